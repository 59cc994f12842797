"""What can be known of a connection without waiting for it, in a thread as in a greenlet."""

import contextlib
import socket


def peek(sock: socket.socket) -> bytes | None:
    """Return one byte that waits to be read, b"" where the other side has closed; else None.

    It looks below any TLS, and takes nothing away.
    """
    try:
        plain = socket.socket(fileno=sock.fileno())
    except OSError:  # closed on our side already
        return b""
    try:
        plain.settimeout(0)
        return plain.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return None
    except OSError:
        return b""
    finally:
        plain.detach()


def shut_down(sock: socket.socket) -> None:
    """Shut both directions down, below any TLS; whoever waits for the socket wakes up at once."""
    with contextlib.suppress(OSError):  # closed already
        plain = socket.socket(fileno=sock.fileno())
        try:
            plain.shutdown(socket.SHUT_RDWR)
        finally:
            plain.detach()
