"""How a client's input is read: heads at once, deadlines, and turns for other greenlets."""

import time

import gevent
import pytest

from app.server import reader as reader_module
from app.server.reader import (
    HEAD_BYTES,
    SMALL_READS,
    TURN_BYTES,
    Reader,
    TLSOnPlainPort,
)
from tests.server.sockets import connected, nothing
from tests.support.services.polling import wait_until

HEAD = b"GET / HTTP/1.1\r\nhost: tollgate\r\n\r\n"


@pytest.mark.parametrize("cut", [1, 5, len(HEAD) - 3, len(HEAD) - 2, len(HEAD) - 1])
def test_a_head_is_returned_at_once_however_it_arrives(cut: int) -> None:
    with connected() as (server, client):
        reader = Reader(server, nothing)
        reader.wait_for_request(30)
        client.sendall(HEAD[:cut])
        later = gevent.spawn(client.sendall, HEAD[cut:])
        server_read = gevent.spawn(reader.chunk)
        later.join(30)
        server_read.join(30)
        assert server_read.value == HEAD
        assert reader.begun


def test_a_head_may_end_in_bare_newlines() -> None:
    with connected() as (server, client):
        reader = Reader(server, nothing)
        reader.wait_for_request(30)
        client.sendall(b"GET / HTTP/1.1\n\n")
        assert reader.chunk() == b"GET / HTTP/1.1\n\n"


def test_a_head_without_an_end_is_given_up_at_a_bound() -> None:
    with connected() as (server, client):
        reader = Reader(server, nothing)
        reader.wait_for_request(30)
        client.sendall(b"x" * (HEAD_BYTES + 10_000))
        assert HEAD_BYTES < len(reader.chunk()) <= HEAD_BYTES + 10_000


def test_tls_is_rejected_at_once() -> None:
    """Its client waits for an answer, and the head would never end."""
    with connected() as (server, client):
        reader = Reader(server, nothing)
        reader.wait_for_request(30)
        client.sendall(b"\x16\x03\x01\x02\x00\x01")
        with pytest.raises(TLSOnPlainPort):
            reader.chunk()


def test_a_connection_without_a_request_has_a_deadline() -> None:
    with connected() as (server, _):
        reader = Reader(server, nothing)
        reader.wait_for_request(0.05)
        with pytest.raises(TimeoutError):
            reader.chunk()
        assert not reader.begun


def test_half_a_head_has_a_deadline_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_module, "HEAD_S", 0.05)
    with connected() as (server, client):
        reader = Reader(server, nothing)
        reader.wait_for_request(3600)
        client.sendall(HEAD[:-1])
        with pytest.raises(TimeoutError):
            reader.chunk()
        assert reader.begun


def test_a_deadline_that_is_over_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_module, "BODY_S", 0.0)
    with connected() as (server, client):
        reader = Reader(server, nothing)
        reader.wait_for_body()
        client.sendall(b"late")
        with pytest.raises(TimeoutError, match="too long"):
            reader.chunk()


def test_a_pipelined_request_has_begun_and_lets_others_run_first() -> None:
    with connected() as (server, _):
        reader, ran = Reader(server, nothing), list[bool]()
        reader.unread(HEAD[:10])
        gevent.spawn(ran.append, True)
        reader.wait_for_request(3600)
        assert reader.begun
        assert ran == [True]


def test_a_body_that_arrives_extends_its_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_module, "BODY_S", 0.2)
    monkeypatch.setattr(reader_module, "BODY_BYTES_PER_S", 10)
    with connected() as (server, client):
        reader, started_s = Reader(server, nothing), time.monotonic()
        reader.wait_for_body()
        client.sendall(b"x" * 1000)  # a hundred seconds more
        assert reader.chunk() == b"x" * 1000
        wait_until(lambda: time.monotonic() > started_s + 0.2)
        client.sendall(b"more")
        assert reader.chunk() == b"more"


def test_each_wait_for_a_body_is_announced() -> None:
    waits: list[int] = []
    with connected() as (server, client):
        reader = Reader(server, lambda: waits.append(1))
        reader.wait_for_body()
        client.sendall(b"body")
        assert reader.chunk() == b"body"
        client.close()
        assert reader.chunk() == b""
    assert waits == [1, 1]


def test_a_body_is_read_in_pieces_as_large_as_asked_for_up_to_a_bound() -> None:
    with connected() as (server, client):
        reader = Reader(server, nothing)
        reader.wait_for_body()
        client.sendall(b"x" * 100_000)
        assert len(reader.chunk(1)) <= reader.mxchunk
        assert len(reader.chunk(50_000)) > reader.mxchunk


def test_others_run_after_so_many_bytes() -> None:
    with connected() as (server, client):
        reader, ran = Reader(server, nothing), list[bool]()
        reader.wait_for_body()
        client.sendall(b"x" * TURN_BYTES * 2)
        gevent.spawn(ran.append, True)
        assert len(reader.chunk(1)) < TURN_BYTES
        assert ran == []
        reader.chunk(TURN_BYTES)
        assert ran == [True]


def test_a_client_that_sends_byte_by_byte_is_read_in_larger_pieces() -> None:
    with connected() as (server, client):
        reader = Reader(server, nothing)
        reader.wait_for_body()
        for _ in range(SMALL_READS + 1):
            client.sendall(b"x")
            assert reader.chunk() == b"x"
        client.sendall(b"y")
        gevent.spawn(client.sendall, b"z")
        assert reader.chunk() == b"yz"
