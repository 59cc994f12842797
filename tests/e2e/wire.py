"""Requests byte by byte, and what their answers say."""

import json
import socket
from typing import Any

from tests.fuzz.wire import Said

BODY = json.dumps({"model": "sim/m", "prompt": "one two"}).encode()


STREAM = json.dumps({"model": "sim/m", "prompt": "one two", "stream": True}).encode()


def error_of(said: Said) -> dict[str, Any]:
    """Return an answer's error."""
    error: dict[str, Any] = json.loads(said.body)["error"]
    return error


def closes(said: Said) -> bool:
    """Whether the answer says that the connection is closed after it."""
    return b"\r\nconnection: close" in said.head.lower()


def until_reset(sock: socket.socket) -> bytes:
    """Return what can still be read, and require that it ends in a reset."""
    data = b""
    try:
        while more := sock.recv(65536):
            data += more
    except ConnectionResetError:
        return data
    raise AssertionError("the connection ended in order")
