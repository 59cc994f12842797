"""What is sent instead of a response to input that is not a valid request."""

import json
import socket

import pytest
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

from app.server.reader import TLSOnPlainPort
from app.server.rejection import reject
from tests.server.sockets import connected

CASES: list[tuple[BaseException, int, str]] = [
    (ExpectationFailed("x"), 417, "invalid_http"),
    (LimitRequestLine(1, 1), 414, "invalid_http"),
    (LimitRequestHeaders("x"), 431, "invalid_http"),
    (InvalidRequestLine("tg_secret"), 400, "invalid_http"),
    (InvalidRequestMethod("tg_secret"), 400, "invalid_http"),
    (InvalidHeader("tg_secret"), 400, "invalid_http"),
    (InvalidHeaderName("tg_secret"), 400, "invalid_http"),
    (ObsoleteFolding("tg_secret"), 400, "invalid_http"),
    (InvalidHTTPVersion("tg_secret"), 400, "invalid_http"),
    (UnsupportedTransferCoding("tg_secret"), 400, "invalid_http"),
    (TLSOnPlainPort(), 400, "invalid_http"),
    (TimeoutError(), 408, "request_timeout"),
]


@pytest.mark.parametrize(("exc", "status", "code"), CASES, ids=lambda it: type(it).__name__)
def test_the_error_has_the_apis_shape_and_names_its_kind(
    exc: BaseException, status: int, code: str
) -> None:
    with connected() as (server, client):
        reject(server, exc)
        server.shutdown(socket.SHUT_WR)
        head, _, body = client.recv(65536).partition(b"\r\n\r\n")
    assert head.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"connection: close" in head
    error = json.loads(body)["error"]
    assert (error["type"], error["code"], error["param"]) == ("invalid_request_error", code, None)
    assert error["message"].endswith(".")
    assert "tg_secret" not in error["message"]
    assert f"x-request-id: {error['request_id']}\r\n".encode() in head + b"\r\n"
    assert error["doc_url"] == f"/docs/errors#{code}"


def test_what_is_malformed_is_named() -> None:
    with connected() as (server, client):
        reject(server, InvalidRequestMethod("post"))
        server.shutdown(socket.SHUT_WR)
        assert b"capital letters, such as `POST`" in client.recv(65536)
    with connected() as (server, client):
        reject(server, ObsoleteFolding("x"))
        server.shutdown(socket.SHUT_WR)
        assert b"on one line" in client.recv(65536)


def test_a_client_that_has_disconnected_is_not_an_error() -> None:
    with connected() as (server, client):
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        client.close()
        reject(server, TimeoutError())
