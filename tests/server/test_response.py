"""Responses byte by byte, as a client receives them."""

import contextlib
import socket
from collections.abc import Iterator
from email.utils import parsedate_to_datetime

import pytest

from app.server.reader import Reader
from app.server.response import OnePacketResponse
from tests.server.sockets import connected, nothing, request_from, settings

Answering = tuple[OnePacketResponse, socket.socket]


@contextlib.contextmanager
def answering(
    *headers: str, version: str = "1.1", method: str = "GET", body: bytes = b""
) -> Iterator[Answering]:
    """Yield the response to a request, and the client's end of the connection."""
    with connected() as (server, client):
        lines = [f"{method} / HTTP/{version}", "host: tollgate", *headers, "", ""]
        client.sendall("\r\n".join(lines).encode() + body)
        request = request_from(Reader(server, nothing))
        yield OnePacketResponse(request, server, settings()), client


def is_silent(client: socket.socket) -> bool:
    """Whether nothing has been sent."""
    client.setblocking(False)
    try:
        client.recv(1)
    except BlockingIOError:
        return True
    finally:
        client.settimeout(30)
    return False


def test_the_head_is_sent_with_the_first_piece_of_the_body() -> None:
    with answering() as (response, client):
        response.start_response("200 OK", [("content-length", "4")])
        response.send_headers()
        assert is_silent(client)
        response.write(b"body")
        head, _, body = client.recv(65536).partition(b"\r\n\r\n")
        assert body == b"body"
    lines = head.decode().split("\r\n")
    assert lines[0] == "HTTP/1.1 200 OK"
    assert {"Connection: keep-alive", "content-length: 4"} <= set(lines)
    (date,) = (line for line in lines if line.startswith("Date: "))
    assert parsedate_to_datetime(date.removeprefix("Date: ")).year >= 2026


def test_a_body_without_a_length_is_chunked() -> None:
    with answering() as (response, client):
        response.start_response("200 OK", [])
        response.write(b"a" * 17)
        response.write(b"b")
        response.close()
        raw = b""
        while not raw.endswith(b"0\r\n\r\n"):
            raw += client.recv(65536)
    head, _, body = raw.partition(b"\r\n\r\n")
    assert b"Transfer-Encoding: chunked" in head
    assert body == b"11\r\n" + b"a" * 17 + b"\r\n1\r\nb\r\n0\r\n\r\n"


def test_a_response_without_a_body_has_its_head() -> None:
    with answering() as (response, client):
        response.start_response("204 No Content", [])
        response.close()
        assert client.recv(65536).startswith(b"HTTP/1.1 204 No Content\r\n")


def test_a_closed_response_sends_nothing_more() -> None:
    with answering() as (response, client):
        response.start_response("200 OK", [("content-length", "4")])
        response.write(b"body")
        client.recv(65536)
        response.close()
        assert is_silent(client)


@pytest.mark.parametrize(
    ("headers", "body", "connection"),
    [
        (["content-length: 4"], b"body", b"keep-alive"),
        (["content-length: 40000"], b"body", b"close"),
        (["content-length: 4", "connection: close"], b"body", b"close"),
    ],
)
def test_the_connection_is_kept_if_the_start_of_the_next_request_is_known(
    headers: list[str], body: bytes, connection: bytes
) -> None:
    with answering(*headers, method="POST", body=body) as (response, client):
        response.start_response("401 UNAUTHORIZED", [("content-length", "0")])
        response.close()
        assert b"Connection: " + connection in client.recv(65536)


TRUNCATED: dict[str, tuple[str, list[tuple[str, str]], bool]] = {
    "the end of an HTTP/1.0 response is its connection's": ("1.0", [], True),
    "a length shows it": ("1.0", [("content-length", "10")], False),
    "a last chunk shows it": ("1.1", [], False),
}


@pytest.mark.parametrize("case", TRUNCATED)
def test_a_response_is_truncated_if_only_a_reset_can_show_it(case: str) -> None:
    version, headers, expected = TRUNCATED[case]
    with answering(version=version) as (response, _):
        assert not response.is_truncated
        response.start_response("200 OK", headers)
        response.write(b"half")
        assert response.is_truncated is expected
        response.close()
        assert not response.is_truncated


def test_no_file_overtakes_the_head() -> None:
    with answering() as (response, _):
        assert not response.can_sendfile()


def test_the_request_forgets_a_response_that_has_ended() -> None:
    with answering() as (response, _):
        assert response.req.response is response
        response.start_response("200 OK", [("content-length", "0")])
        response.close()
        assert response.req.response is None
