"""What the errors of requests, urllib3 and the system mean for a vendor call. No I/O."""

import ssl
from http.client import BadStatusLine, HTTPException, IncompleteRead, RemoteDisconnected

import requests
import urllib3

from app.transport import connect_errors
from app.transport.http1.errors import BrokenResponse
from app.transport.opening import NotConnected
from app.transport.trust import TrustUnreadable
from app.vocabulary.errors import (
    GatewayError,
    VendorConnectTimeout,
    VendorFailed,
    VendorMisconfigured,
    VendorTimeout,
    VendorUnreachable,
)

#: What opening a connection and an exchange on it may raise.
FOREIGN = (urllib3.exceptions.HTTPError, OSError, ValueError)

#: Raised only while there is no connection yet.
_BEFORE_SENDING = (
    NotConnected,
    urllib3.exceptions.NewConnectionError,
    urllib3.exceptions.ConnectTimeoutError,
    urllib3.exceptions.ProxyError,
    urllib3.exceptions.LocationValueError,
    requests.exceptions.InvalidURL,
    requests.exceptions.InvalidSchema,
    ssl.SSLCertVerificationError,
    TrustUnreadable,
)


def surely_unsent(exc: BaseException) -> bool:
    """Whether an error shows that no connection was opened, and so that nothing was sent.

    Some errors of requests' own adapter occur before and after that: they count as after it,
    because the call may be billed.
    """
    causes = tuple(connect_errors.causes(exc))
    if any(isinstance(cause, _BEFORE_SENDING) for cause in causes):
        return True
    last = causes[-1]
    if isinstance(last, ssl.SSLError):
        return connect_errors.is_final(last) or last.reason == "WRONG_VERSION_NUMBER"
    return type(last) is ValueError  # http.client: a header contains a line break


def unreachable(name: str, exc: BaseException, *, proxied: bool) -> GatewayError:
    """Return the error of a call that was never sent."""
    why = connect_errors.reason(exc, proxied=proxied)
    message = f"The vendor `{name}` cannot be reached: {why}."
    if connect_errors.is_final(exc):
        return VendorMisconfigured(message)
    if connect_errors.is_timeout(exc):
        return VendorConnectTimeout(message)
    return VendorUnreachable(message)


def interrupted(name: str, exc: BaseException, status: int | None) -> GatewayError:
    """Return the error of a call that the vendor may have received, and may bill."""
    if is_timeout(exc):
        return VendorTimeout(f"The vendor `{name}` stopped responding.", billable=True)
    status = status or getattr(exc, "status", None)
    message = f"The vendor `{name}` {broken_words(exc)}."
    return VendorFailed(message, vendor_status=status, billable=True)


def is_timeout(exc: BaseException) -> bool:
    """Whether the vendor sent nothing for too long, according to the system or a library."""
    cause = connect_errors.root_cause(exc)
    return isinstance(cause, TimeoutError | urllib3.exceptions.ReadTimeoutError)


def broken_words(exc: BaseException) -> str:
    """Return what was wrong with a response, to complete "The vendor ..."."""
    if isinstance(exc, BrokenResponse):
        return str(exc)
    cause = connect_errors.root_cause(exc)
    if isinstance(cause, RemoteDisconnected | IncompleteRead):
        return "broke off the connection"
    if isinstance(cause, BadStatusLine):
        return "sent a response that is not HTTP"
    if isinstance(cause, HTTPException | urllib3.exceptions.InvalidHeader):
        return "sent a response that is not valid HTTP"
    return "broke off the connection"
