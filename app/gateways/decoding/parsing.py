"""Helpers for all decoders: JSON, token counts, and the error for a malformed response."""

from collections.abc import Mapping
from typing import Any

from app.formats import strict_json
from app.vendors.vendor import Vendor
from app.vocabulary.errors import VendorFailed

#: No request has more tokens; sums of counts below it fit every column of the ledger.
COUNT_LIMIT = 2**40


def failed(vendor: Vendor, what: str) -> VendorFailed:
    """Return the error for a malformed response; `what` completes "The vendor `x` …"."""
    return VendorFailed(f"The vendor `{vendor.name}` {what}.", billable=True)


def load(vendor: Vendor, text: bytes) -> Any:
    """Parse a vendor's JSON.

    Raises: VendorFailed.
    """
    try:
        return strict_json.load_vendor(text)
    except ValueError as exc:
        raise failed(vendor, "sent something that is not JSON") from exc


def whole(value: Any) -> int | None:
    """Return a token count as an int; some vendors send floats. None if it is not a count."""
    if type(value) not in (int, float) or not 0 <= value < COUNT_LIMIT:
        return None
    return int(value)


def number(value: Any) -> float | None:
    """Return a JSON number; None for any other value."""
    return value if type(value) in (int, float) else None


def plain_mapping(value: Any) -> Mapping[str, Any]:
    """Return `value` if it is a JSON object, otherwise an empty one."""
    return value if isinstance(value, dict) else {}
