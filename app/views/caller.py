"""The caller's side of a connection, as far as the server lets us see it."""

import socket
from collections.abc import Callable, Mapping
from typing import Any


def caller_left(environ: Mapping[str, Any]) -> Callable[[], bool] | None:
    """Return a function that tells whether the caller has closed its connection.

    None where the server does not show its socket, or where TLS hides what is on it. A caller
    that only shuts down its sending side counts as gone: no HTTP client does so and waits.
    """
    sock = environ.get("gunicorn.socket")
    if sock is None or not hasattr(sock, "recv") or hasattr(sock, "cipher"):
        return None

    def left() -> bool:
        try:
            peeker = socket.socket(fileno=sock.fileno())
        except OSError:  # closed on our side already
            return True
        try:
            peeker.settimeout(0)
            return peeker.recv(1, socket.MSG_PEEK) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True
        finally:
            peeker.detach()

    return left
