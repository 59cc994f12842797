"""The address of the client that sent a request, for the request log."""

import ipaddress
import re

from flask import request

#: An address with a port, as some proxies write it.
_WITH_PORT = re.compile(r"\[([^\]]+)\](?::\d+)?|([^:]+):\d+")


def source_address(proxies: int) -> str | None:
    """Return the client's address as the outermost of our own proxies saw it; None if unknown.

    `proxies` is the number of our own proxies. With 0, the connection's peer is returned: an
    `x-forwarded-for` that the client has written itself is never trusted.
    """
    if proxies:
        seen = request.headers.get("x-forwarded-for", "").split(",")
        if len(seen) >= proxies and (address := _address(seen[-proxies].strip())):
            return address
    return request.remote_addr or None


def _address(written: str) -> str | None:
    found = _WITH_PORT.fullmatch(written)
    try:
        return str(ipaddress.ip_address((found[1] or found[2]) if found else written))
    except ValueError:
        return None
