"""The caller's side of a connection, as far as the server lets us see it."""

from collections.abc import Callable, Mapping
from typing import Any

from app.sockets import peek


def caller_left(environ: Mapping[str, Any]) -> Callable[[], bool] | None:
    """Return a function that tells whether the caller has closed its connection.

    None where the server does not show its socket, or where TLS hides what is on it. A caller
    that only shuts down its sending side counts as gone: no HTTP client does so and waits.
    """
    sock = environ.get("gunicorn.socket")
    if sock is None or not hasattr(sock, "recv") or hasattr(sock, "cipher"):
        return None

    return lambda: peek(sock) == b""
