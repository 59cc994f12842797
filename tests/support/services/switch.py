"""A managed failover: an address that leads to another Redis from one moment on."""

import contextlib
import socket
from pathlib import Path

from redis import Redis

from tests.support.services.listener import Listener
from tests.support.services.relay import relay
from tests.support.services.valkey import Valkey


class Switch(Listener):
    """Passes new connections on to `target`; those that there are stay where they are."""

    def __init__(self, target: int) -> None:
        self.target = target
        self._open: list[socket.socket] = []
        super().__init__(self._relay)

    @property
    def url(self) -> str:
        """The address, as REDIS_URL spells it."""
        return f"redis://127.0.0.1:{self.port}/0"

    def stop(self) -> None:
        """Take no more connections, and end those that there are."""
        super().stop()
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _relay(self, client: socket.socket) -> None:
        with (
            contextlib.suppress(OSError),
            client,
            socket.create_connection(("127.0.0.1", self.target)) as server,
        ):
            self._open += [client, server]
            relay(client, server)


class Pair:
    """Two servers and an address that leads to the first."""

    def __init__(self, directory: Path) -> None:
        self.servers = []
        for name in ("first", "second"):
            (directory / name).mkdir()
            self.servers.append(Valkey(directory / name, persistent=True).start())
        self.first, self.second = (Redis.from_url(server.url) for server in self.servers)
        self.address = Switch(self.servers[0].port)

    def switch(self) -> None:
        """Have new connections lead to the second server."""
        self.address.target = self.servers[1].port

    def stop(self) -> None:
        """Stop both."""
        self.address.stop()
        for server in self.servers:
            server.kill()


def replicates(pair: Pair) -> None:
    """Make the first server a replica of the second."""
    pair.first.replicaof("127.0.0.1", str(pair.servers[1].port))


def is_cut_off(pair: Pair) -> None:
    """Make the first server a replica of nobody: it serves what it had, for ever."""
    pair.first.replicaof("127.0.0.1", "1")
