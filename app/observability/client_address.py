"""Where a request came from, for the log."""

import ipaddress
import re

from flask import request

#: An address as proxies write it: alone, or with a port.
_WITH_PORT = re.compile(r"\[([^\]]+)\](?::\d+)?|([^:]+):\d+")


def source_address(proxies: int) -> str | None:
    """Return the caller's address, as the outermost of our own proxies saw it; None for none.

    `proxies` is how many of them there are. With 0, it is the connection's other end: what a caller
    writes into `x-forwarded-for` itself is never believed.
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
