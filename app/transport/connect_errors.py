"""Why no connection to a vendor could be opened, for people to read. No I/O."""

import errno
import re
import socket
import ssl
from collections.abc import Callable, Iterator
from typing import Any

import urllib3

from app.transport.dns import LookUpTimeout
from app.transport.trust import FILES, TrustUnreadable

_TUNNEL = re.compile(r"Tunnel connection failed: (\d{3})")

#: X509_V_ERR_*: what is wrong with a certificate.
_UNTRUSTED = {
    9: "not valid yet",
    10: "expired",
    18: "self-signed",
    19: "signed by an unknown authority",
    20: "signed by an unknown authority",
    21: "signed by an unknown authority",
    62: "issued for another host",
    64: "issued for another address",
}

_UNKNOWN_HOST = {
    getattr(socket, name) for name in ("EAI_NONAME", "EAI_NODATA") if hasattr(socket, name)
}


def is_final(exc: BaseException) -> bool:
    """Whether a retry is useless: a setting has to be changed first."""
    cause = root_cause(exc)
    return isinstance(cause, _FINAL) or _is_unreadable(cause)


_FINAL = (
    ssl.SSLCertVerificationError,
    TrustUnreadable,
    ValueError,  # an invalid URL or header
)


def _is_unreadable(cause: BaseException) -> bool:
    """Whether the fault is in our file of trusted certificates, not in the vendor's certificate."""
    return isinstance(cause, ssl.SSLError) and cause.library in ("X509", "PEM", "ASN1")


def is_timeout(exc: BaseException) -> bool:
    """Whether connecting took too long."""
    return isinstance(root_cause(exc), TimeoutError | urllib3.exceptions.ConnectTimeoutError)


def reason(exc: BaseException, *, proxied: bool = False) -> str:
    """Return why no connection was opened, as a clause without host, URL or path."""
    cause = root_cause(exc)
    words = next(words(cause) for kind, words in _WORDS if isinstance(cause, kind))
    it, its = ("its proxy", "its proxy's") if proxied else ("it", "its")
    return words.format(it=it, its=its)


def _untrusted(cause: Any) -> str:
    kind = _UNTRUSTED.get(cause.verify_code)
    return "its TLS certificate is not trusted" + (f" ({kind})" if kind else "")


def _tls(cause: Any) -> str:
    if _is_unreadable(cause):
        return f"the trusted certificates cannot be read ({', '.join(FILES)})"
    what = (cause.reason or "").replace("_", " ").lower()
    return "the TLS handshake failed" + (f" ({what})" if what else "")


def _look_up(cause: Any) -> str:
    unknown = cause.errno in _UNKNOWN_HOST
    return "{its} host name is unknown" if unknown else "{its} host name cannot be looked up"


def _system(cause: Any) -> str:
    if found := _TUNNEL.search(str(cause)):
        return f"its proxy refused to connect (HTTP {found[1]})"
    if cause.errno in (errno.ENETUNREACH, errno.EHOSTUNREACH):
        return "there is no route to {it}"
    return "the connection failed"


def _always(words: str) -> Callable[[Any], str]:
    return lambda _: words


#: The message for each kind of error; the first kind that fits counts.
_WORDS: tuple[tuple[type[BaseException], Callable[[Any], str]], ...] = (
    (ssl.SSLCertVerificationError, _untrusted),
    (ssl.SSLError, _tls),
    (TrustUnreadable, str),
    (ValueError, _always("its URL or a header is not valid")),  # some of requests' are OSErrors
    (socket.gaierror, _look_up),
    (LookUpTimeout, _always("{its} host name cannot be looked up in time")),
    (TimeoutError, _always("{it} did not accept a connection in time")),
    (
        urllib3.exceptions.ConnectTimeoutError,
        _always("{it} did not accept a connection in time"),
    ),
    (ConnectionRefusedError, _always("{it} refused the connection")),
    (ConnectionError, _always("{it} closed the connection while it was being opened")),
    (OSError, _system),
    (BaseException, _always("the connection failed")),
)


def root_cause(exc: BaseException) -> BaseException:
    """Return the system's own error, inside what requests and urllib3 wrapped around it."""
    *_, last = causes(exc)
    return last


def causes(exc: BaseException) -> Iterator[BaseException]:
    """Yield an error, and what it was made of, down to the system's own error."""
    for _ in range(8):
        yield exc
        inner = _inner(exc)
        if inner is None or isinstance(exc, _KEPT):
            return
        exc = inner


#: Errors that say more than those they were made of.
_KEPT = (
    ssl.SSLError,
    socket.gaierror,
    LookUpTimeout,
    TrustUnreadable,
)


def _inner(exc: BaseException) -> BaseException | None:
    for arg in (getattr(exc, "reason", None), getattr(exc, "original_error", None), *exc.args):
        if isinstance(arg, BaseException):
            return arg
    return exc.__cause__
