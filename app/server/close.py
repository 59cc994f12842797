"""Closes connections so that the client can tell a complete response from a truncated one.

Closing a socket with unread input resets the connection, and the response is lost on its way. So
input that still arrives is discarded for a while before the socket is closed. Where the end of a
response is the end of its connection, a truncated response must not end like a complete one: the
connection is reset.
"""

import contextlib
import fcntl
import socket
import struct
import termios
import time

import gevent

from app.runtime.turns import TURN_S

#: The most input that is discarded after a response, in bytes and in seconds.
DISCARD_BYTES = 32 * 1024 * 1024
DISCARD_S = 10.0

#: How long a reset waits until the client has confirmed what was sent before it, in seconds.
RESET_S = 5.0
_RESET_TICK_S = 0.02

_DISCARDED = bytearray(64 * 1024)


def discard_and_close(sock: socket.socket) -> None:
    """End our side, discard input until the client ends its side or a limit is reached, close."""
    with contextlib.suppress(OSError):  # the client has disconnected, or a TimeoutError
        sock.shutdown(socket.SHUT_WR)
        until_s, left = time.monotonic() + DISCARD_S, DISCARD_BYTES
        while left > 0 and (left_s := until_s - time.monotonic()) > 0:
            sock.settimeout(left_s)
            received = sock.recv_into(_DISCARDED)
            if not received:
                break
            left -= received
            gevent.sleep(TURN_S)
    sock.close()


def reset(sock: socket.socket) -> None:
    """Abort the connection, once the client has confirmed what was sent before."""
    until_s = time.monotonic() + RESET_S
    while unsent(sock) and time.monotonic() < until_s:
        gevent.sleep(_RESET_TICK_S)
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def unsent(sock: socket.socket) -> int:
    """Return how many bytes the client has not confirmed; 0 if the system does not report it."""
    try:
        answer = fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, b"\0" * 4)
    except (OSError, ValueError):  # ValueError: a closed socket
        return 0
    return int(struct.unpack("i", answer)[0])
