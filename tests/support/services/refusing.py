"""A server that answers before it has read the request, as one with a body limit does."""

import contextlib
import socket
import ssl
import struct
import threading
from pathlib import Path
from typing import Literal

from tests.support.services.listener import Listener
from tests.support.services.tls import make_certificate

#: What it does after its answer: close with the request unread, close cleanly, or nothing at all.
Manner = Literal["reset", "close", "stall", "read"]

REFUSAL = b"HTTP/1.1 413 Too Large\r\ncontent-length: 7\r\nconnection: close\r\n\r\ntoo big"


class RefusingServer(Listener):
    """Reads a request's head, sends `answer`, and goes on in its manner; `received` is a count."""

    def __init__(
        self, answer: bytes = REFUSAL, manner: Manner = "reset", tls: Path | None = None
    ) -> None:
        self._answer, self._manner = answer, manner
        self._context = None
        self.received = 0
        self.certificate = tls / "certificate.pem" if tls else None
        self._stopped = threading.Event()
        if tls and self.certificate:
            make_certificate(self.certificate, tls / "key.pem")
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(self.certificate, tls / "key.pem")
        super().__init__(self._refuse)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http{'s' if self._context else ''}://127.0.0.1:{self.port}/v1"

    def stop(self) -> None:
        """End, with those connections that stall."""
        self._stopped.set()
        super().stop()

    def _refuse(self, connection: socket.socket) -> None:
        # Or else an answer waits behind TLS's tickets (Nagle's algorithm), and a reset drops it.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(OSError), connection:
            if self._context:
                connection = self._context.wrap_socket(connection, server_side=True)
            with connection:
                self._answered(connection)

    def _answered(self, connection: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            head += connection.recv(1024)
        self.received += len(head)
        connection.sendall(self._answer)
        if self._manner == "stall":
            self._stopped.wait(60)
        elif self._manner == "read":
            while piece := connection.recv(65536):
                self.received += len(piece)
        elif self._manner == "close":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 5))
