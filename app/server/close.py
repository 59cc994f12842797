"""How a connection ends, so that the other side learns what it is to learn.

To close with something unread resets a connection, and the answer is lost on its way: so what a
caller still sends is thrown away for a while. And where the end of an answer is the end of the
connection, an answer that was cut must not end like one that is whole. Loaded by gunicorn alone.
"""

import contextlib
import fcntl
import socket
import struct
import termios
import time

import gevent

from app.runtime.turns import TURN_S

#: What is thrown away of what a caller still sends after its answer, in bytes and in seconds.
DRAIN_BYTES = 32 * 1024 * 1024
DRAIN_S = 10.0

#: How long a reset waits for what was sent before it, in seconds.
RESET_S = 5.0
_RESET_TICK_S = 0.02

#: What is thrown away goes here.
_SINK = bytearray(64 * 1024)


def drain_and_close(sock: socket.socket) -> None:
    """End our side, throw away what still comes until the caller ends its own, and close."""
    with contextlib.suppress(OSError):  # it may be gone; TimeoutError is one, too
        sock.shutdown(socket.SHUT_WR)
        until_s, left = time.monotonic() + DRAIN_S, DRAIN_BYTES
        while left > 0 and (left_s := until_s - time.monotonic()) > 0:
            sock.settimeout(left_s)
            received = sock.recv_into(_SINK)
            if not received:
                break
            left -= received
            gevent.sleep(TURN_S)
    sock.close()


def reset(sock: socket.socket) -> None:
    """Break the connection off, once the other side has what was sent before."""
    until_s = time.monotonic() + RESET_S
    while unsent(sock) and time.monotonic() < until_s:
        gevent.sleep(_RESET_TICK_S)
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def unsent(sock: socket.socket) -> int:
    """Return how many bytes the other side has not confirmed; 0 where nobody can tell."""
    try:
        answer = fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, b"\0" * 4)
    except OSError:
        return 0
    return int(struct.unpack("i", answer)[0])
