"""What every decoder of vendors' answers needs: JSON, counts, and the failure that nonsense is."""

from typing import Any

from app.formats import strict_json
from app.vendors.vendor import Vendor
from app.vocabulary.errors import VendorFailed

#: No request has more tokens; sums of these fit every column that they will be kept in.
COUNT_LIMIT = 2**40


def failed(vendor: Vendor, what: str) -> VendorFailed:
    """Return the error of an answer that went wrong after the vendor took the request."""
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
    """Return a count, which some vendors write as a float; None for what is none."""
    if type(value) not in (int, float) or not 0 <= value < COUNT_LIMIT:
        return None
    return int(value)


def number(value: Any) -> float | None:
    """Return a JSON number; None for what is none."""
    return value if type(value) in (int, float) else None
