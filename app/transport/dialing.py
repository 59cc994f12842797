"""Opens a TCP connection within a time limit that includes the lookup of its host."""

import socket
import time
from collections.abc import Sequence
from typing import Any

from app.transport.dns import Address, Resolver

#: A silent connection is probed after a minute, and given up a minute later. So load balancers do
#: not drop it during a long response, and a server that has crashed is noticed.
_PROBES = {"TCP_KEEPIDLE": 60, "TCP_KEEPALIVE": 60, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4}
KEEP_ALIVE: list[tuple[int, int, int]] = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in _PROBES.items()
        if hasattr(socket, name)  # platforms differ
    ),
]

#: Shortest time for one of several addresses, in seconds, if that much is left.
_SHARE_S = 2.0


def dial(
    resolver: Resolver,
    host: str,
    port: int,
    timeout_s: float,
    options: Sequence[tuple[int, int, int | bytes]],
) -> Any:
    """Return a connected socket, whose timeout is the rest of `timeout_s`.

    The addresses of the host are tried in order; each gets a share of the time.
    Raises: LookUpTimeout, socket.gaierror, TimeoutError, OSError (of the last address).
    """
    until_s = time.monotonic() + timeout_s
    addresses = resolver.addresses(host, port, timeout_s)
    error: OSError = TimeoutError()
    for at, address in enumerate(addresses):
        left_s = until_s - time.monotonic()
        if left_s <= 0:
            break
        share_s = max(left_s / (len(addresses) - at), min(left_s, _SHARE_S))
        try:
            sock = _connected(address, share_s, options)
        except OSError as exc:
            error = exc
            continue
        sock.settimeout(max(until_s - time.monotonic(), 0.001))
        return sock
    raise error


def _connected(
    address: Address, timeout_s: float, options: Sequence[tuple[int, int, int | bytes]]
) -> socket.socket:
    family, kind, protocol, _, target = address
    sock = socket.socket(family, kind, protocol)
    try:
        for option in (*options, *KEEP_ALIVE):
            sock.setsockopt(*option)
        sock.settimeout(timeout_s)
        sock.connect(target)
    except BaseException:
        sock.close()
        raise
    return sock
