"""How a stream finds out that its client has disconnected."""

import socket
import struct

import pytest

from app.api.disconnect import PROBES, ClientConnection, client_of
from tests.server.sockets import connected
from tests.support.services.polling import wait_until


def test_a_client_that_is_there_has_not_disconnected() -> None:
    with connected() as (server, client):
        connection = ClientConnection(server)
        assert not connection.has_disconnected()
        client.sendall(b"more")
        assert not connection.has_disconnected()


def test_a_client_that_has_reset_its_connection_has_disconnected() -> None:
    with connected() as (server, client):
        connection = ClientConnection(server)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
        wait_until(connection.has_disconnected)


@pytest.mark.parametrize("closes", [True, False])
def test_a_probe_tells_a_closed_connection_from_an_ended_side(closes: bool) -> None:
    with connected() as (server, client):
        connection, probes = ClientConnection(server), []

        def probe() -> None:
            probes.append(True)
            server.sendall(b": keep-alive\n\n")

        connection.probe = probe
        if closes:
            client.close()
            with pytest.raises(BrokenPipeError):  # the stream's next write
                wait_until(connection.has_disconnected)
        else:
            client.shutdown(socket.SHUT_WR)
            wait_until(lambda: connection.has_disconnected() or len(probes) == PROBES)
            assert not connection.has_disconnected()
            assert client.recv(100).startswith(b": keep-alive")
        assert 1 <= len(probes) <= PROBES


def test_without_a_probe_nobody_counts_as_disconnected() -> None:
    with connected() as (server, client):
        client.close()
        assert not ClientConnection(server).has_disconnected()


class _TLS:
    """A socket whose input cannot be seen."""

    def recv(self) -> None: ...
    def cipher(self) -> None: ...


def test_a_connection_is_watched_where_its_socket_shows_its_input() -> None:
    assert client_of({}) is None
    assert client_of({"gunicorn.socket": object()}) is None
    assert client_of({"gunicorn.socket": _TLS()}) is None
    with connected() as (server, _):
        assert client_of({"gunicorn.socket": server}) is not None
