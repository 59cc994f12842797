"""Socket operations that do not wait, in threads and in greenlets."""

import _socket  # the plain socket below a cooperative one: made in a microsecond, never waits
import contextlib
import select
import socket
import ssl
from collections.abc import Callable
from typing import Any, Literal, Protocol

# A socket's family and type only matter to calls that take an address.
_ANY = (_socket.AF_INET, _socket.SOCK_STREAM, 0)
_PEEK = _socket.MSG_PEEK | _socket.MSG_DONTWAIT


def peek(sock: socket.socket) -> bytes | None:
    """Return the next byte, without consuming it; b"" if the peer has closed; None if none waits.

    With TLS, it is a byte of the encrypted stream.
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
    """Return "open"; "ended" if the peer sends no more; "gone" if the connection is lost."""
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
    """Send all of `data`, in one system call if possible.

    A cooperative socket's `sendall` queries the size of the kernel's buffer each time.
    """
    sent = sock.send(data)
    if sent < len(data):
        sock.sendall(memoryview(data)[sent:])


def send_while(sock: Any, data: bytes, go_on: Callable[[bytes], bool]) -> bool:
    """Send `data` in blocks, and pass `go_on` the bytes that arrive meanwhile, b"" at their end.

    Stop if `go_on` returns False. Return whether all of `data` was sent.
    Raises: OSError.
    """
    if isinstance(sock, ssl.SSLSocket):
        end: _End = _TLSEnd(sock)
    elif isinstance(sock, socket.socket):
        end = _PlainEnd(sock)
    else:  # TLS inside of TLS, to a proxy: it cannot receive meanwhile
        sock.sendall(data)
        return True
    with end:
        return _sent(sock, memoryview(data), end, go_on)


#: Maximum number of bytes that are sent between two attempts to receive.
_BLOCK = 256 * 1024


def _sent(
    sock: socket.socket, rest: memoryview, end: "_End", go_on: Callable[[bytes], bool]
) -> bool:
    while rest:
        if peek(sock) is not None:
            received = end.receive()
            if received is not None and not go_on(received):
                return False
        sent = end.send(rest[:_BLOCK])
        rest = rest[sent:]
        if not sent:
            waiting = select.poll()
            waiting.register(sock.fileno(), select.POLLIN | select.POLLOUT)
            waiting.poll()
    return True


class _End(Protocol):
    """Our end of a connection. Instead of waiting, it sends 0 bytes, or receives None."""

    def __enter__(self) -> None: ...
    def __exit__(self, *exc: object) -> None: ...
    def send(self, block: memoryview) -> int: ...
    def receive(self) -> bytes | None: ...


class _PlainEnd:
    def __init__(self, sock: socket.socket) -> None:
        self._plain = _socket.socket(*_ANY, sock.fileno())

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: object) -> None:
        self._plain.detach()

    def send(self, block: memoryview) -> int:
        try:
            return self._plain.send(block, _socket.MSG_DONTWAIT)
        except BlockingIOError:
            return 0

    def receive(self) -> bytes | None:
        try:
            return self._plain.recv(_BLOCK, _socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None


class _TLSEnd:
    def __init__(self, sock: ssl.SSLSocket) -> None:
        self._sock = sock

    def __enter__(self) -> None:
        self._sock.settimeout(0.0)

    def __exit__(self, *exc: object) -> None:
        with contextlib.suppress(OSError):  # closed
            self._sock.settimeout(None)

    def send(self, block: memoryview) -> int:
        try:
            return self._sock.send(block)
        except (ssl.SSLWantWriteError, ssl.SSLWantReadError):
            return 0

    def receive(self) -> bytes | None:
        try:
            return self._sock.recv(_BLOCK)
        except (ssl.SSLWantWriteError, ssl.SSLWantReadError):  # a ticket, or half a record
            return None


def shut_down(sock: socket.socket) -> None:
    """Shut down both directions, below any TLS; threads that wait for the socket wake up."""
    _shut(sock, _socket.SHUT_RDWR)


def end_receiving(sock: socket.socket) -> None:
    """Shut down receiving: readers find the end of the stream. Sending still works."""
    _shut(sock, _socket.SHUT_RD)


def _shut(sock: socket.socket, how: int) -> None:
    with contextlib.suppress(OSError, ValueError):  # closed already, by either side
        plain = _socket.socket(*_ANY, sock.fileno())
        try:
            plain.shutdown(how)
        finally:
            plain.detach()
