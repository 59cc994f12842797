"""What can be known of a connection without waiting for it, in a thread as in a greenlet."""

import _socket  # the plain socket beneath a cooperative one: made in a microsecond, and never waits
import contextlib
import socket
from collections.abc import Iterator


def peek(sock: socket.socket) -> bytes | None:
    """Return one byte that waits to be read, b"" where the other side has closed; else None.

    It looks below any TLS, and takes nothing away.
    """
    try:
        with _plain(sock) as plain:
            return plain.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return None
    except OSError:  # closed on our side already, or reset
        return b""


def shut_down(sock: socket.socket) -> None:
    """Shut both directions down, below any TLS; whoever waits for the socket wakes up at once."""
    with contextlib.suppress(OSError), _plain(sock) as plain:  # closed already
        plain.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def _plain(sock: socket.socket) -> Iterator[_socket.socket]:
    plain = _socket.socket(sock.family, sock.type, sock.proto, sock.fileno())
    try:
        yield plain
    finally:
        plain.detach()
