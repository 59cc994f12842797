"""Ports for servers that cannot take a socket over."""

import random
import socket


def free_port() -> int:
    """Return a port of the loopback interface that nothing listens on just now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


def lasting_port() -> int:
    """Return a free port below those that the system gives to outgoing connections.

    Another would be lost to somebody's connection while its server restarts.
    """
    while True:
        port = random.randrange(10_000, 32_000)  # noqa: S311 - no secret
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
