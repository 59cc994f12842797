"""The bytes of an HTTP/1.1 request. No I/O."""

from collections.abc import Mapping


def request_bytes(method: str, target: str, headers: Mapping[str, str], body: bytes) -> bytes:
    """Return head and body in one piece, so that a short request leaves in one packet.

    Raises: ValueError if a header contains a line break.
    """
    lines = [f"{method} {target} HTTP/1.1", *map(": ".join, headers.items()), "", ""]
    head = "\r\n".join(lines)
    if head.count("\n") != len(lines) - 1 or head.count("\r") != len(lines) - 1:
        raise ValueError("a header holds a line break")
    return head.encode("latin-1") + body
