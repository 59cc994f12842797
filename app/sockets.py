"""What can be known of a connection without waiting for it, in a thread as in a greenlet."""

import _socket  # the plain socket beneath a cooperative one: made in a microsecond, and never waits
import contextlib
import socket
from typing import Literal

# A socket's family and type only matter to calls that take an address.
_ANY = (_socket.AF_INET, _socket.SOCK_STREAM, 0)
_PEEK = _socket.MSG_PEEK | _socket.MSG_DONTWAIT


def peek(sock: socket.socket) -> bytes | None:
    """Return one byte that waits to be read, b"" where the other side has closed; else None.

    It looks below any TLS, and takes nothing away.
    """
    try:
        plain = _socket.socket(*_ANY, sock.fileno())
    except (OSError, ValueError):  # closed on our side already
        return b""
    try:
        return plain.recv(1, _PEEK)
    except BlockingIOError:
        return None
    except OSError:  # reset
        return b""
    finally:
        plain.detach()


def far_side(sock: socket.socket) -> Literal["open", "ended", "gone"]:
    """Return whether the other side may still send, has ended its sending, or has broken off."""
    try:
        plain = _socket.socket(*_ANY, sock.fileno())
    except (OSError, ValueError):  # closed on our side already
        return "gone"
    try:
        return "open" if plain.recv(1, _PEEK) else "ended"
    except BlockingIOError:
        return "open"
    except OSError:  # reset
        return "gone"
    finally:
        plain.detach()


def send_all(sock: socket.socket, data: bytes) -> None:
    """Send all of `data`, as one system call does where it can.

    A cooperative socket's `sendall` asks for the size of the kernel's buffer each time.
    """
    sent = sock.send(data)
    if sent < len(data):
        sock.sendall(memoryview(data)[sent:])


def shut_down(sock: socket.socket) -> None:
    """Shut both directions down, below any TLS; whoever waits for the socket wakes up at once."""
    _shut(sock, _socket.SHUT_RDWR)


def end_receiving(sock: socket.socket) -> None:
    """Have whoever reads the socket find its end; what is sent still goes out."""
    _shut(sock, _socket.SHUT_RD)


def _shut(sock: socket.socket, how: int) -> None:
    with contextlib.suppress(OSError, ValueError):  # closed already, by either side
        plain = _socket.socket(*_ANY, sock.fileno())
        try:
            plain.shutdown(how)
        finally:
            plain.detach()
