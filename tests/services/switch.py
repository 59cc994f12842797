"""An address that leads to another server from one moment on, as a managed failover has it."""

import contextlib
import socket
import threading

from tests.services.listener import Listener


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
            back = threading.Thread(target=_pass_on, args=(server, client), daemon=True)
            back.start()
            _pass_on(client, server)
            back.join()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(65536):
            target.sendall(piece)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
