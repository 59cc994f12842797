"""A connection with both of its ends, for the classes that serve one end of it."""

import contextlib
import socket
from collections.abc import Iterator
from typing import Any

from gunicorn.config import Config

from app.server.reader import Reader
from app.server.request import WebRequest


@contextlib.contextmanager
def connected() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Yield a server's and a client's end of one connection; neither waits for ever."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname(), timeout=30)
        server, _ = listener.accept()
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    server.settimeout(30)
    with server, client:
        yield server, client


def fill(server: socket.socket) -> None:
    """Send until the client's window and our buffer are full, since the client reads nothing."""
    server.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            server.send(b"x" * 65536)


def settings(**changed: Any) -> Config:
    """Return gunicorn's settings, as far as one connection needs them."""
    config = Config()
    for name, value in ({"keepalive": 75} | changed).items():
        config.set(name, value)
    return config


def nothing() -> None:
    """Do nothing: a callback that a test does not look at."""


def request_from(reader: Reader, *, body_is_here: Any = nothing, number: int = 1) -> WebRequest:
    """Read the head of a request."""
    reader.wait_for_request(30)
    return WebRequest(settings(), reader, ("127.0.0.1", 1), number, body_is_here)
