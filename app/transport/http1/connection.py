"""One connection to a vendor, and when it was used."""

import socket
from collections import deque

from app.transport.http1.response_parser import ResponseParser


class Connection:
    """A connected socket; times are in seconds, on the clock of its pool."""

    __slots__ = ("idle_limit_s", "idle_since_s", "opened_at_s", "parser", "siblings", "sock")

    def __init__(self, sock: socket.socket, siblings: "deque[Connection]", now_s: float) -> None:
        self.sock = sock
        self.parser = ResponseParser()
        #: The idle connections to the same host, where it belongs between two exchanges.
        self.siblings = siblings
        self.opened_at_s = self.idle_since_s = now_s
        #: How long it may stay idle.
        self.idle_limit_s = 0.0

    def close(self) -> None:
        """Close the socket."""
        self.sock.close()
