"""How a connection is closed, as its client sees it."""

import contextlib
import socket
import struct
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.server import close
from app.server.close import discard_and_close, reset, unsent
from tests.server.sockets import connected, fill
from tests.support.services.polling import wait_until


def test_a_response_arrives_although_the_client_still_sends() -> None:
    with connected() as (server, client), ThreadPoolExecutor(1) as pool:
        server.sendall(b"the response")
        closing = pool.submit(discard_and_close, server)
        for _ in range(64):
            client.sendall(b"x" * 65536)
        client.shutdown(socket.SHUT_WR)
        assert client.recv(100) == b"the response"
        assert client.recv(100) == b""
        closing.result(30)
    assert server.fileno() == -1


def test_input_is_discarded_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(close, "DISCARD_BYTES", 100_000)
    with connected() as (server, client):
        client.sendall(b"x" * 150_000)
        discard_and_close(server)  # would wait for the client's end
        assert server.fileno() == -1


def test_a_silent_client_is_waited_for_up_to_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(close, "DISCARD_S", 0.05)
    with connected() as (server, _):
        discard_and_close(server)
        assert server.fileno() == -1


def test_a_client_that_has_reset_its_connection_is_closed_in_silence() -> None:
    with connected() as (server, client):
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
        discard_and_close(server)
        assert server.fileno() == -1


def test_a_reset_comes_after_what_was_sent_before_it() -> None:
    with connected() as (server, client):
        server.sendall(b"half")
        reset(server)
        assert client.recv(100) == b"half"
        with pytest.raises(ConnectionResetError):
            client.recv(100)


def test_a_reset_waits_until_the_client_has_read_what_was_sent() -> None:
    with connected() as (server, client):
        fill(server)
        closing = threading.Thread(target=reset, args=(server,))
        closing.start()
        received = 0
        with contextlib.suppress(ConnectionResetError):
            while data := client.recv(65536):
                received += len(data)
            raise AssertionError("the connection ended in order")
        closing.join(30)
    assert received > 65536


def test_a_reset_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(close, "RESET_S", 0.05)
    with connected() as (server, _):
        fill(server)
        reset(server)
        assert server.fileno() == -1


def test_unsent_counts_what_the_client_has_not_confirmed() -> None:
    with connected() as (server, client):
        assert unsent(server) == 0
        fill(server)
        assert unsent(server) > 0
        client.settimeout(0.2)
        wait_until(lambda: client.recv(1 << 20) == b"" or unsent(server) == 0)


def test_unsent_of_a_closed_socket_is_nothing() -> None:
    with connected() as (server, _):
        server.close()
        assert unsent(server) == 0
