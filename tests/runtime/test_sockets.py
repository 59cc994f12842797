"""Socket operations that do not wait, on real connections, plain and TLS."""

import socket
import struct
import threading
from collections.abc import Iterator

import pytest

from app.runtime.sockets import (
    end_receiving,
    far_side,
    peek,
    send_all,
    send_while,
    shut_down,
)
from tests.support.services.polling import wait_until

Pair = tuple[socket.socket, socket.socket]

#: Far more than the buffers of a connection hold, in bytes.
LARGE = 32 * 1024 * 1024


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Two ends of a TCP connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ours = socket.create_connection(listener.getsockname())
        theirs, _ = listener.accept()
        with ours, theirs:
            yield ours, theirs


def reset(sock: socket.socket) -> None:
    """Close with a reset."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def test_a_peek_consumes_nothing_and_does_not_wait(pair: Pair) -> None:
    ours, theirs = pair
    assert peek(ours) is None
    theirs.sendall(b"ab")
    wait_until(lambda: peek(ours) == b"a")
    assert ours.recv(2) == b"ab"
    assert peek(ours) is None


def test_a_peek_finds_the_end(pair: Pair) -> None:
    ours, theirs = pair
    theirs.close()
    wait_until(lambda: peek(ours) == b"")
    ours.close()
    assert peek(ours) == b""


def test_a_peer_is_open_ended_or_gone(pair: Pair) -> None:
    ours, theirs = pair
    assert far_side(ours) == "open"
    theirs.sendall(b"x")
    wait_until(lambda: peek(ours) == b"x")
    assert far_side(ours) == "open"
    ours.recv(1)
    theirs.shutdown(socket.SHUT_WR)
    wait_until(lambda: far_side(ours) == "ended")
    reset(theirs)
    ours.close()
    assert far_side(ours) == "gone"


def test_a_reset_is_found(pair: Pair) -> None:
    ours, theirs = pair
    reset(theirs)
    wait_until(lambda: far_side(ours) in ("gone", "ended"))
    assert peek(ours) == b""


def received(sock: socket.socket, size: int) -> bytes:
    with sock.makefile("rb") as reader:
        return reader.read(size)


def test_all_is_sent_though_buffers_are_smaller(pair: Pair) -> None:
    ours, theirs = pair
    data = bytes(range(256)) * (LARGE // 256)
    got: list[bytes] = []
    thread = threading.Thread(target=lambda: got.append(received(theirs, LARGE)))
    thread.start()
    send_all(ours, data)
    thread.join(60)
    assert got == [data]


def test_what_arrives_while_sending_is_passed_on(pair: Pair) -> None:
    ours, theirs = pair
    data, arrived, got = b"x" * LARGE, list[bytes](), list[bytes]()
    theirs.sendall(b"early")

    def go_on(received_: bytes) -> bool:
        arrived.append(received_)
        return True

    wait_until(lambda: peek(ours) is not None)
    thread = threading.Thread(target=lambda: got.append(received(theirs, LARGE)))
    thread.start()
    assert send_while(ours, data, go_on)
    thread.join(60)
    assert (got, b"".join(arrived)) == ([data], b"early")


def test_sending_stops_when_what_arrives_says_so(pair: Pair) -> None:
    ours, theirs = pair
    theirs.sendall(b"no")  # and it reads nothing: all of it cannot be sent
    assert not send_while(ours, b"x" * LARGE, lambda _: False)


def test_a_shut_down_wakes_a_waiting_reader(pair: Pair) -> None:
    ours, theirs = pair
    got: list[bytes] = []
    thread = threading.Thread(target=lambda: got.append(ours.recv(1)))
    thread.start()
    shut_down(ours)
    thread.join(60)
    assert got == [b""]
    assert theirs.recv(1) == b""
    ours.close()
    shut_down(ours)  # nothing to do


def test_after_the_end_of_receiving_sending_still_works(pair: Pair) -> None:
    ours, theirs = pair
    end_receiving(ours)
    assert ours.recv(1) == b""
    ours.sendall(b"bye")
    assert theirs.recv(3) == b"bye"
