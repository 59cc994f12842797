"""The response to input that is not a valid HTTP request, or that does not arrive in time."""

import contextlib
import json
import logging
import socket
import ssl
import uuid

from gunicorn.http.errors import (
    ExpectationFailed,
    InvalidHeader,
    InvalidHeaderName,
    InvalidHTTPVersion,
    InvalidRequestLine,
    InvalidRequestMethod,
    LimitRequestHeaders,
    LimitRequestLine,
    ObsoleteFolding,
    UnsupportedTransferCoding,
)

from app.server.reader import HEAD_S, TLSOnPlainPort

log = logging.getLogger(__name__)

#: Where the API explains its errors. The host is not known: there is no valid request.
ERRORS_PAGE = "/docs/errors"

#: Exception -> status line, code and message.
_REJECTIONS = {
    ExpectationFailed: (
        "417 Expectation Failed",
        "invalid_http",
        "The only supported value of `expect` is `100-continue`.",
    ),
    LimitRequestLine: ("414 URI Too Long", "invalid_http", "The request line is too long."),
    LimitRequestHeaders: (
        "431 Request Header Fields Too Large",
        "invalid_http",
        "The request's headers are too large.",
    ),
    TimeoutError: (
        "408 Request Timeout",
        "request_timeout",
        f"The request's headers were not complete within {HEAD_S:g} s.",
    ),
}
#: Exception -> what is wrong with the request; nothing of it is repeated: it may hold a key.
_MALFORMED = {
    TLSOnPlainPort: "This port speaks HTTP without TLS. Begin the URL with `http://`.",
    InvalidRequestMethod: "The method must be in capital letters, such as `POST`.",
    InvalidRequestLine: "The request line must be a method, a path and `HTTP/1.1`.",
    InvalidHTTPVersion: "The version of HTTP must be `HTTP/1.1` or `HTTP/1.0`.",
    InvalidHeaderName: "The name of a header has a character that names cannot have, such as the "
    "underscore in `idempotency_key`.",
    InvalidHeader: "A header is malformed: a line without a colon, a value with a control "
    "character, a `content-length` that is not a number, an empty `host`, or a header twice that "
    "may be there once, such as `host` and `content-type`.",
    ObsoleteFolding: "A header has a line break in it. Send each header on one line.",
    UnsupportedTransferCoding: "The only supported `transfer-encoding` is `chunked`.",
}
_INVALID = ("400 Bad Request", "invalid_http", "The request is not valid HTTP.")


def reject(client: socket.socket, exc: BaseException) -> str:
    """Send the error response for `exc`, in the shape of the API's errors; return its code."""
    status, code, message = _REJECTIONS.get(type(exc), _INVALID)
    if malformed := _MALFORMED.get(type(exc)):
        message = f"{message} {malformed}"
    request_id = f"req_{uuid.uuid4()}"
    log.info("rejected input that is not a request: %s, %s", code, request_id)
    error = {
        "message": message,
        "type": "invalid_request_error",
        "param": None,
        "code": code,
        "request_id": request_id,
        "doc_url": f"{ERRORS_PAGE}#{code}",
    }
    body = json.dumps({"error": error}).encode()
    head = (
        f"HTTP/1.1 {status}\r\nconnection: close\r\ncontent-type: application/json\r\n"
        f"x-request-id: {request_id}\r\n"
    )
    with contextlib.suppress(OSError, ssl.SSLError):  # the client may have disconnected
        client.sendall(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
    return code
