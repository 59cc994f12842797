"""Which certificate authorities are trusted, by the environment's usual variables."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

#: In order: requests' and curl's variables, then OpenSSL's.
FILES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")
DIRECTORY = "SSL_CERT_DIR"


class TrustUnreadable(OSError):
    """A setting names a file or directory that does not exist; `str(error)` says which."""


@dataclass(frozen=True, slots=True)
class Trust:
    """Trusted certificates: a file (None for certifi's), and a directory beside it if there is one.

    Some name a directory where a file is meant, which requests allows.
    """

    path: str | None = None
    directory: str | None = None

    @property
    def verify(self) -> str | bool:
        """What requests calls `verify`."""
        return self.path or True


def trust_in(env: Mapping[str, str]) -> Trust:
    """Return what the environment says.

    Raises: TrustUnreadable.
    """
    name = next((name for name in FILES if env.get(name)), None)
    path = env[name] if name else None
    # Of several directories, urllib3 takes one.
    directory = env.get(DIRECTORY, "").partition(os.pathsep)[0] or None
    if name in FILES[:2]:
        directory = None
    for setting, value in ((name, path), (DIRECTORY, directory)):
        if value and not os.path.exists(value):
            raise TrustUnreadable(f"{setting} names a path that does not exist")
    return Trust(path, directory)
