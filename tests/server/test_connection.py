"""Connections over real sockets: requests in a row, how each ends, and who makes room."""

import json
import socket
import ssl
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from gunicorn.http.errors import ParseException

from app.runtime.sockets import peek
from app.server import connection as connection_module
from app.server import reader as reader_module
from app.server.close import unsent
from app.server.connection import Connection, Connections
from app.server.response import OnePacketResponse
from tests.server.sockets import connected, fill, settings
from tests.support.services.polling import wait_until
from tests.support.services.tls import make_certificate

ADDRESS = ("127.0.0.1", 1)
GET = b"GET / HTTP/1.1\r\nhost: tollgate\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nhost: tollgate\r\ncontent-length: 9\r\n\r\n"


@contextmanager
def serving(connections: Connections) -> Iterator[tuple[Connection, socket.socket]]:
    """Yield a new connection among these, and its client's end."""
    with connected() as (server, client):
        connections.make_room()
        yield Connection(settings(), server, ADDRESS, None), client


@pytest.fixture
def connections() -> Connections:
    """Room for ten connections, of which one is kept free."""
    return Connections(10)


def respond(connection: Connection, *, whole: bool = True) -> None:
    """Answer the connection's request."""
    response = OnePacketResponse(connection.request, connection.sock, settings())
    length = [("content-length", "4")] if whole else []
    response.start_response("200 OK", length)
    response.write(b"body")
    if whole:
        response.close()


def test_requests_follow_each_other_until_the_client_ends(connections: Connections) -> None:
    with serving(connections) as (connection, client):
        for count in (1, 2):
            client.sendall(GET)
            request = connection.next_request(connections)
            assert request is not None
            assert (request.path, connection.served) == ("/", count)
            respond(connection)
            assert client.recv(65536).endswith(b"body")
        client.shutdown(socket.SHUT_WR)
        assert connection.next_request(connections) is None
        connections.close(connection)
        assert client.recv(1) == b""


def test_a_new_connection_that_stays_silent_is_closed_without_a_response(
    connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "FIRST_S", 0.05)
    with serving(connections) as (connection, client):
        assert connection.next_request(connections) is None
        connections.close(connection)
        assert client.recv(1) == b""


def error_after(connections: Connections, connection: Connection, client: socket.socket) -> str:
    """Close the connection; return the status line and the code that its client has."""
    client.shutdown(socket.SHUT_WR)
    connections.close(connection)
    raw = b""
    while data := client.recv(65536):
        raw += data
    head, _, body = raw.partition(b"\r\n\r\n")
    return f"{head.decode().splitlines()[0]} {json.loads(body)['error']['code']}"


def test_half_a_head_is_rejected_at_its_deadline(
    connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader_module, "HEAD_S", 0.05)
    with serving(connections) as (connection, client):
        client.sendall(GET[:-2])
        assert connection.next_request(connections) is None
        told = error_after(connections, connection, client)
    assert told == "HTTP/1.1 408 Request Timeout request_timeout"


def test_what_is_not_http_is_raised_and_the_rest_of_it_is_discarded(
    connections: Connections,
) -> None:
    with serving(connections) as (connection, client), ThreadPoolExecutor(1) as pool:
        client.sendall(b"no request at all\r\n\r\n")
        with pytest.raises(ParseException):
            connection.next_request(connections)
        closing = pool.submit(connections.close, connection)
        client.sendall(b"x" * 100_000)
        client.shutdown(socket.SHUT_WR)
        assert client.recv(1) == b""  # and no reset
        closing.result(30)


def test_a_connection_that_breaks_raises_the_systems_error(connections: Connections) -> None:
    with serving(connections) as (connection, client):
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        client.close()
        with pytest.raises(ConnectionResetError):
            connection.next_request(connections)
        connections.close(connection)


def test_a_body_that_nobody_reads_is_discarded_so_that_the_response_arrives(
    connections: Connections,
) -> None:
    with serving(connections) as (connection, client), ThreadPoolExecutor(1) as pool:
        client.sendall(POST.replace(b": 9", b": 200000"))
        assert connection.next_request(connections) is not None
        respond(connection)
        closing = pool.submit(connections.close, connection)
        client.sendall(b"x" * 200_000)
        client.shutdown(socket.SHUT_WR)
        assert b"connection: close" in client.recv(65536).lower()
        assert client.recv(1) == b""
        closing.result(30)


def test_input_after_a_whole_response_is_discarded(connections: Connections) -> None:
    with serving(connections) as (connection, client):
        client.sendall(GET)
        assert connection.next_request(connections) is not None
        respond(connection)
        client.sendall(GET)
        client.shutdown(socket.SHUT_WR)
        connections.close(connection)
        assert client.recv(65536).endswith(b"body")
        assert client.recv(1) == b""


def test_a_truncated_response_to_http_1_0_ends_in_a_reset(connections: Connections) -> None:
    with serving(connections) as (connection, client):
        client.sendall(GET.replace(b"1.1", b"1.0"))
        assert connection.next_request(connections) is not None
        respond(connection, whole=False)
        connections.close(connection)
        assert client.recv(65536).endswith(b"body")
        with pytest.raises(ConnectionResetError):
            client.recv(1)


def test_a_connection_that_is_closed_already_is_closed_in_silence(
    connections: Connections,
) -> None:
    with serving(connections) as (connection, client):
        client.sendall(POST)
        assert connection.next_request(connections) is not None
        connection.sock.close()
        connections.close(connection)


def test_tls_is_served_and_plain_text_is_not(tmp_path: Path, connections: Connections) -> None:
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    make_certificate(certificate, key)
    ours = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ours.load_cert_chain(certificate, key)
    theirs = ssl.create_default_context(cafile=str(certificate))
    with connected() as (server, client), ThreadPoolExecutor(1) as pool:
        connection = Connection(settings(), server, ADDRESS, ours)
        connections.make_room()
        waiting = pool.submit(connection.next_request, connections)
        with theirs.wrap_socket(client, server_hostname="127.0.0.1") as secured:
            secured.sendall(GET)
            assert waiting.result(30) is not None
            respond(connection)
            assert secured.recv(65536).endswith(b"body")
            connections.close(connection)
    with connected() as (server, client):
        connection = Connection(settings(), server, ADDRESS, ours)
        connections.make_room()
        client.sendall(GET)
        with pytest.raises(ssl.SSLError):
            connection.next_request(connections)
        connections.close(connection)


class Crowd:
    """Connections in each state, with the clients' ends."""

    def __init__(self, stack: ExitStack, connections: Connections) -> None:
        self._stack = stack
        self._connections = connections
        self.clients: dict[str, socket.socket] = {}

    def new(self, name: str) -> Connection:
        """Add a connection."""
        connection, self.clients[name] = self._stack.enter_context(serving(self._connections))
        return connection

    def closed(self) -> list[str]:
        """Return the names of those whose clients find their end."""
        found = []
        for name, client in self.clients.items():
            client.settimeout(0.02)
            try:
                found += [name] if client.recv(1) == b"" else []
            except TimeoutError:
                continue
            except ConnectionResetError:
                found.append(name)
        return found


@pytest.fixture
def full() -> Iterator[tuple[Crowd, Connections]]:
    """A process that is full with nine connections: one of each kind, and five that are served."""
    with ExitStack() as stack:
        connections = Connections(10)
        crowd = Crowd(stack, connections)
        connections.wait(crowd.new("older and fresh"))
        connections.wait(crowd.new("fresh"))
        sending = crowd.new("sending")
        connections.wait_for_body(sending)
        kept = crowd.new("kept alive")
        kept.served = 1
        connections.wait(kept)
        for at in range(5):
            connections.serve(crowd.new(f"served {at}"))
        yield crowd, connections


def test_connections_make_room_in_the_order_of_their_use(full: tuple[Crowd, Connections]) -> None:
    crowd, connections = full
    assert crowd.closed() == []
    order = ["older and fresh", "fresh", "sending", "kept alive"]
    for count in range(1, 6):
        connections.make_room()
        assert crowd.closed() == sorted(order[:count], key=list(crowd.clients).index)


def test_a_connection_that_is_closing_makes_room_first(full: tuple[Crowd, Connections]) -> None:
    crowd, connections = full
    closing = crowd.new("closing")  # of which there are ten: the oldest has made room
    crowd.clients["closing"].sendall(POST)
    assert closing.next_request(connections) is not None
    respond(closing)
    thread = threading.Thread(target=connections.close, args=(closing,))
    thread.start()
    crowd.clients["closing"].recv(65536)  # the response; the server waits for our end
    wait_until(lambda: closing in connections._closing)
    connections.make_room()
    thread.join(30)
    assert not thread.is_alive()
    assert crowd.closed()[0] == "older and fresh"
    assert "fresh" not in crowd.closed()


def test_clients_that_do_not_read_are_disconnected_when_the_process_is_full(
    full: tuple[Crowd, Connections], monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd, connections = full
    monkeypatch.setattr(connection_module, "STALLED_S", 0.05)
    monkeypatch.setattr(connection_module, "_SWEEP_S", 0.0)
    stalled = crowd.new("stalled")
    connections.serve(stalled)
    fill(stalled.sock)

    def is_shut() -> bool:
        connections.disconnect_stalled()
        return peek(stalled.sock) == b""

    wait_until(is_shut)
    assert crowd.closed() == ["older and fresh"]  # it made room for the stalled one


def test_a_client_that_reads_a_little_is_not_stalled(connections: Connections) -> None:
    with serving(connections) as (connection, client):
        fill(connection.sock)
        assert not connection.is_stalled(1000.0)
        before = unsent(connection.sock)
        wait_until(lambda: bool(client.recv(1 << 20)) and unsent(connection.sock) != before)
        assert not connection.is_stalled(1009.0)
        assert not connection.is_stalled(1018.0)


def test_nobody_is_disconnected_while_there_is_room(connections: Connections) -> None:
    with serving(connections) as (connection, client):
        connections.serve(connection)
        connections.disconnect_stalled()
        client.settimeout(0.02)
        with pytest.raises(TimeoutError):
            client.recv(1)


def test_at_shutdown_idle_connections_end_and_a_request_that_has_arrived_is_served(
    connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "IDLE_S", -1.0)
    with serving(connections) as (idle, _), serving(connections) as (asked, client):
        for connection in (idle, asked):
            connections.wait(connection)
        client.sendall(GET)
        wait_until(lambda: peek(asked.sock) == b"G")
        connections.close_idle()
        assert idle.next_request(connections) is None
        assert asked.next_request(connections) is not None


def test_at_shutdown_a_connection_that_is_closing_does_not_wait_for_its_client(
    connections: Connections,
) -> None:
    with serving(connections) as (connection, client):
        client.sendall(POST)
        assert connection.next_request(connections) is not None
        respond(connection)
        thread = threading.Thread(target=connections.close, args=(connection,))
        thread.start()
        wait_until(lambda: connection in connections._closing)

        def has_closed() -> bool:
            connections.close_idle()
            return not thread.is_alive()

        wait_until(has_closed)
        assert b"body" in client.recv(65536)
