"""Raw requests: bytes in, and what came back."""

import contextlib
import socket
import time
from collections.abc import Iterable
from dataclasses import dataclass

#: The end of a body in the chunked coding.
_LAST = b"0\r\n\r\n"

#: Far above any deadline of a request.
PATIENCE_S = 90.0


@dataclass(frozen=True)
class Said:
    """What came back: a status, or None where the connection ended without one."""

    status: int | None
    head: bytes = b""
    body: bytes = b""
    ended: str = ""


def request(
    path: str, *headers: str, method: str = "POST", body: bytes = b"", version: str = "1.1"
) -> bytes:
    """Return a request with these headers, and a content-length where there is a body."""
    length = [f"content-length: {len(body)}"] if body else []
    lines = [f"{method} {path} HTTP/{version}", "host: tollgate", *headers, *length, "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def chunked(body: bytes, size: int, extension: bytes = b"") -> bytes:
    """Return a body in the chunked coding."""
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x%b\r\n%b\r\n" % (len(p), extension, p) for p in pieces) + b"0\r\n\r\n"


def connect(address: tuple[str, int]) -> socket.socket:
    """Return a connection that gives up only when something hangs."""
    return socket.create_connection(address, timeout=PATIENCE_S)


def exchange(address: tuple[str, int], pieces: Iterable[bytes], *, pause_s: float = 0.0) -> Said:
    """Send the pieces, as far as they are taken, and read one answer to its end."""
    with connect(address) as sock:
        with contextlib.suppress(ConnectionError):  # it may have answered, and closed
            for piece in pieces:
                sock.sendall(piece)
                if pause_s:
                    time.sleep(pause_s)
        return read_answer(sock)


def read_answer(sock: socket.socket) -> Said:
    """Read one final answer: to its length, or to the end of the connection."""
    data = b""
    try:
        while b"\r\n\r\n" not in data:
            if not (more := sock.recv(65536)):
                return Said(_status(data), data, ended="closed")
            data = _final(data + more)
        head, _, body = data.partition(b"\r\n\r\n")
        length = _length(head)
        chunks = b"transfer-encoding: chunked" in head.lower()
        while (length is None or len(body) < length) and not (chunks and body.endswith(_LAST)):
            if not (more := sock.recv(65536)):
                return Said(_status(head), head, body, ended="closed")
            body += more
    except TimeoutError:
        return Said(_status(data), data, ended="hung")
    except ConnectionError:
        return Said(_status(data), *data.partition(b"\r\n\r\n")[::2], ended="reset")
    return Said(_status(head), head, body, ended="whole")


def _final(data: bytes) -> bytes:
    """Return what came without the interim answers before it."""
    while data.startswith(b"HTTP/1.1 100 ") and b"\r\n\r\n" in data:
        data = data.partition(b"\r\n\r\n")[2]
    return data


def _status(head: bytes) -> int | None:
    words = head.split(None, 2)
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else None


def _length(head: bytes) -> int | None:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    return None
