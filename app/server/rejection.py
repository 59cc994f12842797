"""The response to input that is not a valid HTTP request, or that does not arrive in time."""

import contextlib
import json
import socket
import ssl

from gunicorn.http.errors import ExpectationFailed, LimitRequestHeaders, LimitRequestLine

from app.server.reader import HEAD_S

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
_INVALID = ("400 Bad Request", "invalid_http", "The request is not valid HTTP.")


def reject(client: socket.socket, exc: BaseException) -> str:
    """Send the error response for `exc`, in the shape of the API's errors; return its code."""
    status, code, message = _REJECTIONS.get(type(exc), _INVALID)
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    body = json.dumps({"error": error}).encode()
    head = f"HTTP/1.1 {status}\r\nconnection: close\r\ncontent-type: application/json\r\n"
    with contextlib.suppress(OSError, ssl.SSLError):  # the client may have disconnected
        client.sendall(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
    return code
