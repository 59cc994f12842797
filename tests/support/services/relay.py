"""Bytes passed on both ways between two connections, as hops in between do it."""

import contextlib
import socket
import threading


def relay(client: socket.socket, server: socket.socket) -> None:
    """Pass bytes on both ways until both sides have ended theirs."""
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
