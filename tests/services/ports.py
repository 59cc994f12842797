"""Ports for servers that cannot take a socket over."""

import socket


def free_port() -> int:
    """Return a port of the loopback interface that nothing listens on just now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port
