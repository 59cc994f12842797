"""Whether a name server is there, which says that a host does not exist."""

import socket
from functools import cache

import pytest


@cache
def _has_name_server() -> bool:
    try:
        socket.getaddrinfo("nosuch.invalid", 1)
    except socket.gaierror as exc:
        return exc.errno != socket.EAI_AGAIN
    return True


def need_name_server() -> None:
    """Skip the test where no name server answers: then no host is unknown for certain."""
    if not _has_name_server():
        pytest.skip("no name server here")
