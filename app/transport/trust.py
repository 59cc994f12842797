"""Which certificate authorities are trusted, according to the usual environment variables."""

import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass

#: In order: requests' and curl's variables, then OpenSSL's.
FILES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")
DIRECTORY = "SSL_CERT_DIR"


class TrustUnreadable(OSError):
    """A setting names a file or directory that does not exist; `str(error)` says which."""


@dataclass(frozen=True, slots=True)
class Trust:
    """Trusted certificates: a file (None for certifi's), and possibly a directory in addition.

    The path of the file may be a directory instead, as requests allows.
    """

    path: str | None = None
    directory: str | None = None

    @property
    def verify(self) -> str | bool:
        """The value for requests' `verify`."""
        return self.path or True


def trust_in(env: Mapping[str, str]) -> Trust:
    """Return what the environment sets.

    Raises: TrustUnreadable.
    """
    name = _file_variable(env)
    path = env[name] if name else None
    directory = ca_directory(env)
    for setting, value in ((name, path), (DIRECTORY, directory)):
        if value and not os.path.exists(value):
            raise TrustUnreadable(f"{setting} names a path that does not exist")
    return Trust(path, directory)


def check_trust(env: Mapping[str, str]) -> None:
    """Check that the certificates can be read.

    Raises: TrustUnreadable.
    """
    path = trust_in(env).path
    if path is None:
        return
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        if os.path.isdir(path):
            context.load_verify_locations(capath=path)
        else:
            context.load_verify_locations(cafile=path)
    except OSError as exc:  # ssl.SSLError is one
        reason = "it has no certificates" if isinstance(exc, ssl.SSLError) else exc.strerror
        problem = f"names a file that cannot be used ({reason})"
        raise TrustUnreadable(f"{_file_variable(env)} {problem}") from None


def ca_directory(env: Mapping[str, str]) -> str | None:
    """Return the directory of trusted certificates, if any; requests' variables override it."""
    if _file_variable(env) in FILES[:2]:
        return None
    # Of several directories, urllib3 takes one.
    return env.get(DIRECTORY, "").partition(os.pathsep)[0] or None


def _file_variable(env: Mapping[str, str]) -> str | None:
    return next((name for name in FILES if env.get(name)), None)
