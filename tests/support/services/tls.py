"""TLS in front of a server that has none, with a certificate that nobody has signed."""

import contextlib
import datetime
import ipaddress
import select
import socket
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.support.services.listener import Listener


class TLSProxy(Listener):
    """Listens with TLS on a free port of the loopback interface, and passes on to `port`.

    `certificate` is the file that a client may trust.
    """

    def __init__(self, directory: Path, port: int, days: int = 1, host: str = "127.0.0.1") -> None:
        self._target = port
        self.certificate = directory / "certificate.pem"
        key = directory / "key.pem"
        make_certificate(self.certificate, key, days, host)
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(self.certificate, key)
        super().__init__(self._relay)

    def _relay(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:  # a client that does not trust us leaves
            secured = self._context.wrap_socket(connection, server_side=True)
            with secured, socket.create_connection(("127.0.0.1", self._target)) as server:
                while _passed_on(secured, server):
                    pass


def _passed_on(secured: ssl.SSLSocket, server: socket.socket) -> bool:
    """Pass on what one side has to say, when it has; return whether both are still there."""
    # One thread for both ways: OpenSSL does not read and write one connection at the same time.
    ready: list[socket.socket] = [secured]
    if not secured.pending():
        ready, _, _ = select.select([secured, server], [], [])
    for source in ready:
        piece = source.recv(65536)
        (server if source is secured else secured).sendall(piece)
        if not piece:
            return False
    return True


def make_certificate(certificate: Path, key: Path, days: int = 1, host: str = "127.0.0.1") -> None:
    """Write a certificate for `host` that signs itself, and its key; `days` < 0: expired."""
    secret = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.IPAddress(ipaddress.ip_address(host))
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(secret.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=3))
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(secret, hashes.SHA256())
    )
    certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    key.write_bytes(
        secret.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
