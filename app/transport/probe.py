"""Asks whether a vendor answers, for people who set a deployment up; nothing is recorded."""

import contextlib
from collections.abc import Mapping

from app.transport import connect_errors
from app.transport.auth.schemes import SIGNERS
from app.transport.call import FOREIGN, message_to
from app.transport.http1.connection import Connection
from app.transport.http1.errors import BrokenAnswer
from app.transport.pool import Connections
from app.vendors.vendor import Vendor, authorization
from app.vocabulary.errors import GatewayError
from app.vocabulary.vendor_request import VendorRequest

#: How long it waits for an answer, in seconds.
PROBE_S = 10.0


def probe(vendor: Vendor, env: Mapping[str, str]) -> tuple[int | None, str]:
    """Ask a vendor for its list of models, which costs nothing; return the status, or why not."""
    request = VendorRequest(
        f"{vendor.base_url}/models", {**authorization(vendor), **vendor.headers}, b""
    )
    route = None
    try:
        if vendor.auth in SIGNERS:
            request = SIGNERS[vendor.auth].sign(vendor, request)
        connections = Connections(env)
        route = connections.route(request.url)
        connection = connections.take(route, vendor.timeouts.connect_s)
    except GatewayError as exc:
        return None, exc.message
    except FOREIGN as exc:
        return None, connect_errors.reason(exc, proxied=route is not None and route.is_proxied)
    with contextlib.closing(connection):
        return _asked(connection, message_to(route, request, "GET"))


def _asked(connection: Connection, message: bytes) -> tuple[int | None, str]:
    connection.sock.settimeout(PROBE_S)
    try:
        connection.send(message)
        connection.read_head()
    except TimeoutError:
        return None, f"it did not answer in {PROBE_S:.0f} s"
    except OSError as exc:
        return None, f"it {exc}" if isinstance(exc, BrokenAnswer) else "it broke off the connection"
    return connection.status, ""
