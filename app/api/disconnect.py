"""Detects that the client of a stream has disconnected, as far as the server shows its socket."""

from collections.abc import Callable, Mapping
from typing import Any

from app.runtime.sockets import far_side

#: How often a client that has shut down its sending side is probed. The second and third probe are
#: for moments in which the stream writes nothing.
PROBES = 3


class ClientConnection:
    """The connection to a stream's client.

    A client that has closed its connection looks like one that has only shut down its sending side
    and still reads. Sending something distinguishes them: a closed side answers with a reset.
    `probe` sends something; without it, no client counts as disconnected.
    """

    def __init__(self, sock: Any) -> None:
        self._sock = sock
        self._probes = 0
        self.probe: Callable[[], None] | None = None

    def has_disconnected(self) -> bool:
        """Return whether the client has closed its connection; call it regularly."""
        side = far_side(self._sock)
        if side == "ended" and self.probe is not None and self._probes < PROBES:
            self._probes += 1
            self.probe()
        return side == "gone"

    def sends_no_more(self) -> bool:
        """Return whether the client has closed its connection, or at least its sending side."""
        return far_side(self._sock) != "open"


def client_of(environ: Mapping[str, Any]) -> ClientConnection | None:
    """Return the connection of the current request.

    None if the server does not expose its socket, or if TLS hides its input.
    """
    sock = environ.get("gunicorn.socket")
    if sock is None or not hasattr(sock, "recv") or hasattr(sock, "cipher"):
        return None
    return ClientConnection(sock)
