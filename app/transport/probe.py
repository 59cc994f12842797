"""Checks whether a vendor responds, for `tollgate vendors --check`; nothing is recorded."""

from collections.abc import Mapping

from app.transport import connect_errors, failures
from app.transport.auth.schemes import authenticated
from app.transport.outgoing import OutgoingRequest
from app.transport.session import VendorSession
from app.vendors.vendor import Vendor
from app.vocabulary.errors import GatewayError
from app.vocabulary.vendor_request import VendorRequest

#: How long to wait for the response, in seconds.
PROBE_S = 10.0


def probe(vendor: Vendor, env: Mapping[str, str]) -> tuple[int | None, str]:
    """Request a vendor's list of models, which costs nothing.

    Returns the HTTP status, or None and the reason why there is none.
    """
    request = VendorRequest(f"{vendor.base_url}/models", vendor.headers, b"")
    session, to = VendorSession(env), None
    try:
        headers = authenticated(vendor, request)
        to = session.destination(request.url)
        timeout = (vendor.timeouts.connect_s, PROBE_S)
        outgoing = OutgoingRequest("GET", to.url, headers, request.body)
        with session.send(outgoing, timeout=timeout, **to.arguments) as response:
            return response.status_code, ""
    except GatewayError as exc:
        return None, exc.message
    except failures.FOREIGN as exc:
        return None, _reason(exc, proxied=to is not None and to.is_proxied)
    finally:
        session.close()


def _reason(exc: Exception, *, proxied: bool) -> str:
    if failures.surely_unsent(exc):
        return connect_errors.reason(exc, proxied=proxied)
    if failures.is_timeout(exc):
        return f"it did not respond in {PROBE_S:.0f} s"
    return f"it {failures.broken_words(exc)}"
