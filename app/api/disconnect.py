"""The caller's side of a connection, as far as the server lets us see it."""

from collections.abc import Callable, Mapping
from typing import Any

from app.runtime.sockets import far_side

#: How often a caller that has ended its side is asked whether it still listens. Once is enough, but
#: for a moment in which nobody waits to write to it.
ASKS = 3


class ClientConnection:
    """Whoever waits for a stream: there, or gone.

    A caller that has closed its connection looks like one that only ends its sending side and goes
    on listening. Something written to it tells the two apart: a closed side answers with a reset.
    `ask` has it written; without it nobody is taken to be gone.
    """

    def __init__(self, sock: Any) -> None:
        self._sock = sock
        self._asked = 0
        self.ask: Callable[[], None] | None = None

    def left(self) -> bool:
        """Say whether the caller has closed its connection; asked now and then."""
        side = far_side(self._sock)
        if side == "ended" and self.ask is not None and self._asked < ASKS:
            self._asked += 1
            self.ask()
        return side == "gone"


def caller_of(environ: Mapping[str, Any]) -> ClientConnection | None:
    """Return who waits for the current answer.

    None where the server does not show its socket, or where TLS hides what is on it.
    """
    sock = environ.get("gunicorn.socket")
    if sock is None or not hasattr(sock, "recv") or hasattr(sock, "cipher"):
        return None
    return ClientConnection(sock)
