"""What errors of libraries mean for a call: whether it was sent, and who may be billed."""

import ssl
from http.client import BadStatusLine, HTTPException, IncompleteRead, RemoteDisconnected

import pytest
import requests
from urllib3 import HTTPConnectionPool
from urllib3 import exceptions as urllib3

from app.transport.failures import interrupted, surely_unsent, unreachable
from app.transport.http1.errors import BadCoding, BadHTTP
from app.transport.opening import NotConnected
from app.transport.trust import TrustUnreadable
from app.vocabulary.errors import (
    VendorConnectTimeout,
    VendorFailed,
    VendorMisconfigured,
    VendorTimeout,
    VendorUnreachable,
)

POOL = HTTPConnectionPool("v.example")


def wrapped(cause: Exception) -> requests.ConnectionError:
    """Return an error as requests makes it of urllib3's."""
    return requests.ConnectionError(urllib3.MaxRetryError(POOL, "/", cause))


def tls_error(reason: str, library: str = "SSL") -> ssl.SSLError:
    error = ssl.SSLError(1, "boom")
    error.reason, error.library = reason, library
    return error


@pytest.mark.parametrize(
    "exc",
    [
        NotConnected(ConnectionResetError()),
        wrapped(urllib3.NewConnectionError(POOL, "refused")),  # type: ignore[arg-type]
        wrapped(urllib3.ConnectTimeoutError()),
        wrapped(urllib3.ProxyError("away", ConnectionResetError())),
        urllib3.LocationParseError("v..example"),
        requests.exceptions.InvalidURL(),
        requests.exceptions.InvalidSchema(),
        TrustUnreadable("SSL_CERT_FILE names a path that does not exist"),
        wrapped(urllib3.SSLError(ssl.SSLCertVerificationError())),
        wrapped(urllib3.SSLError(tls_error("WRONG_VERSION_NUMBER"))),
        wrapped(urllib3.SSLError(tls_error("NO_START_LINE", "PEM"))),
        ValueError("a header holds a line break"),
    ],
    ids=repr,
)
def test_a_call_without_a_connection_was_not_sent(exc: Exception) -> None:
    assert surely_unsent(exc)


@pytest.mark.parametrize(
    "exc",
    [
        ConnectionResetError(),
        requests.ConnectionError(
            urllib3.ProtocolError("aborted", RemoteDisconnected("no response"))
        ),
        urllib3.ReadTimeoutError(POOL, "/", "silence"),
        wrapped(urllib3.SSLError(tls_error("DECRYPTION_FAILED_OR_BAD_RECORD_MAC"))),
        BadHTTP("sent a response that is not HTTP"),
        UnicodeError(),
    ],
    ids=repr,
)
def test_a_call_that_may_have_been_sent_counts_as_sent(exc: Exception) -> None:
    assert not surely_unsent(exc)


@pytest.mark.parametrize(
    ("cause", "kind", "words"),
    [
        (tls_error("CERTIFICATE", "X509"), VendorMisconfigured, "certificates cannot be read"),
        (ValueError(), VendorMisconfigured, "its URL or a header is not valid"),
        (TimeoutError(), VendorConnectTimeout, "did not accept a connection in time"),
        (ConnectionRefusedError(), VendorUnreachable, "it refused the connection"),
    ],
)
def test_a_call_that_was_not_sent_is_never_billed(
    cause: Exception, kind: type[VendorUnreachable], words: str
) -> None:
    error = unreachable("sim", NotConnected(cause), proxied=False)
    assert type(error) is kind
    assert error.message.startswith("The vendor `sim` cannot be reached: ")
    assert words in error.message
    assert not error.billable


def test_a_proxy_that_fails_is_named() -> None:
    error = unreachable("sim", NotConnected(ConnectionRefusedError()), proxied=True)
    assert "its proxy refused the connection" in error.message


@pytest.mark.parametrize(
    "exc", [TimeoutError(), wrapped(urllib3.ReadTimeoutError(POOL, "/", "silence"))]
)
def test_silence_is_a_timeout_that_may_be_billed(exc: Exception) -> None:
    error = interrupted("sim", exc, None)
    assert type(error) is VendorTimeout
    assert error.billable


@pytest.mark.parametrize(
    ("exc", "words"),
    [
        (BadCoding("sent a body that is not gzip"), "sent a body that is not gzip"),
        (ConnectionResetError(), "broke off the connection"),
        (
            urllib3.ProtocolError("aborted", RemoteDisconnected("no response")),
            "broke off the connection",
        ),
        (urllib3.ProtocolError("broken", IncompleteRead(b"")), "broke off the connection"),
        (BadStatusLine("SSH-2.0"), "sent a response that is not HTTP"),
        (HTTPException("got more than 100 headers"), "sent a response that is not valid HTTP"),
        (urllib3.InvalidHeader("two lengths"), "sent a response that is not valid HTTP"),
    ],
    ids=repr,
)
def test_a_response_that_breaks_may_be_billed_and_says_what_was_wrong(
    exc: Exception, words: str
) -> None:
    error = interrupted("sim", exc, 200)
    assert type(error) is VendorFailed
    assert (error.message, error.vendor_status) == (f"The vendor `sim` {words}.", 200)
    assert error.billable


def test_the_status_of_a_broken_response_is_known_from_its_error() -> None:
    broken = BadHTTP("sent a response that is not valid HTTP")
    broken.status = 429
    assert interrupted("sim", broken, None).vendor_status == 429
    assert interrupted("sim", broken, 200).vendor_status == 200
