"""An HTTP proxy, as companies have them: it passes on requests, and connections (CONNECT)."""

import socket
from urllib.parse import urlsplit

from tests.support.services.listener import Listener
from tests.support.services.relay import relay


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
                relay(client, server)
