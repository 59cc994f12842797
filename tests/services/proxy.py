"""An HTTP proxy, as companies have them: it passes on requests, and connections (CONNECT)."""

import contextlib
import socket
import threading
from urllib.parse import urlsplit

from tests.services.listener import Listener


class Proxy(Listener):
    """Listens on a free port of the loopback interface; `asked` holds each connection's head."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        super().__init__(self._relay)

    def _relay(self, client: socket.socket) -> None:
        with client:
            head = b""
            while b"\r\n\r\n" not in head:
                head += client.recv(65536)
            self.asked.append(head.partition(b"\r\n\r\n")[0].decode())
            method, target, _ = head.split(b" ", 2)
            connects = method == b"CONNECT"
            host = urlsplit(("//" if connects else "") + target.decode())
            with socket.create_connection((host.hostname or "", host.port or 80)) as server:
                if connects:
                    client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                else:
                    server.sendall(head)
                back = threading.Thread(target=_pass_on, args=(server, client), daemon=True)
                back.start()
                _pass_on(client, server)
                back.join()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(65536):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)
