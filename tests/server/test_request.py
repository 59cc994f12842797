"""Requests as the web process reads them: when a body is asked for, and when it is complete."""

import socket

import pytest
from gunicorn.http.errors import InvalidHeaderName, NoMoreData, ParseException

from app.server.reader import HEAD_BYTES, Reader
from app.server.request import WebRequest
from tests.server.sockets import connected, nothing, request_from


def head(*headers: str, method: str = "POST") -> bytes:
    """Return the head of a request."""
    return "\r\n".join([f"{method} /path HTTP/1.1", "host: tollgate", *headers, "", ""]).encode()


def received(client: socket.socket, server: socket.socket, data: bytes) -> WebRequest:
    """Send `data`; return the request that it begins."""
    client.sendall(data)
    return request_from(Reader(server, nothing))


def test_a_body_is_read_and_its_end_is_announced() -> None:
    ends: list[int] = []
    with connected() as (server, client):
        client.sendall(head("content-length: 3000") + b"x" * 1500)
        request = request_from(Reader(server, nothing), body_is_here=lambda: ends.append(1))
        assert not request.is_read()
        assert request.body.read(1000) == b"x" * 1000
        assert ends == []
        client.sendall(b"y" * 1500)
        assert request.body.read() == b"x" * 500 + b"y" * 1500
        assert ends[:1] == [1]
        assert request.is_read()


def test_an_idempotency_key_with_an_underscore_is_not_dropped_in_silence() -> None:
    with connected() as (server, client):
        request = received(client, server, head("x_other: 1", "idempotency-key: 2", method="GET"))
        assert "X_OTHER" not in dict(request.headers)
        assert dict(request.headers)["IDEMPOTENCY-KEY"] == "2"
    with connected() as (server, client), pytest.raises(InvalidHeaderName):
        received(client, server, head("idempotency_key: 1", method="GET"))


def test_a_request_without_a_body_is_read() -> None:
    with connected() as (server, client):
        assert received(client, server, head(method="GET")).is_read()


def test_a_short_body_that_arrived_with_the_head_is_read_without_the_application() -> None:
    with connected() as (server, client):
        data = head("content-length: 5", "expect: 100-continue") + b"12345"
        request = received(client, server, data + b"GET")
        assert request.is_read()
        assert request.unreader.buf.getvalue() == b"GET"
        client.settimeout(0.05)
        with pytest.raises(TimeoutError):  # it had the body: nothing is asked for
            client.recv(100)


def test_a_chunked_body_is_read_when_its_last_chunk_is() -> None:
    with connected() as (server, client):
        data = head("transfer-encoding: chunked") + b"3\r\nabc\r\n"
        request = received(client, server, data)
        assert not request.is_read()
        client.sendall(b"0\r\n\r\n")
        assert request.body.read() == b"abc"
        assert request.is_read()


def test_a_chunked_body_that_is_invalid_or_ends_early_is_never_read() -> None:
    for rest, error in ((b"xyz\r\n", ParseException), (b"9\r\nabc", NoMoreData)):
        with connected() as (server, client):
            request = received(client, server, head("transfer-encoding: chunked") + rest)
            client.shutdown(socket.SHUT_WR)
            with pytest.raises(error):
                request.body.read()
            assert not request.is_read()


def test_a_client_that_waits_for_100_continue_gets_it_when_the_body_is_read() -> None:
    with connected() as (server, client):
        request = received(client, server, head("content-length: 4", "expect: 100-continue"))
        client.settimeout(0.05)
        with pytest.raises(TimeoutError):
            client.recv(100)
        client.settimeout(30)
        client.sendall(b"body")
        assert request.body.read() == b"body"
        assert client.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"


def test_a_client_that_has_begun_to_send_its_body_is_not_asked_for_it() -> None:
    with connected() as (server, client):
        data = head("content-length: 4", "expect: 100-continue") + b"bo"
        request = received(client, server, data)
        client.sendall(b"dy")
        assert request.body.read() == b"body"
        client.settimeout(0.05)
        with pytest.raises(TimeoutError):
            client.recv(100)


def test_headers_of_a_proxy_do_not_set_the_scheme() -> None:
    for name in ("x-forwarded-proto: https", "x-forwarded-ssl: on", "x-forwarded-protocol: ssl"):
        with connected() as (server, client):
            assert received(client, server, head(name)).scheme == "http"


def test_a_head_over_the_bound_is_rejected() -> None:
    with connected() as (server, client):
        many = [f"x-{at}: {'x' * 8000}" for at in range(2 * HEAD_BYTES // 8000)]
        with pytest.raises(ParseException):
            received(client, server, head(*many))
