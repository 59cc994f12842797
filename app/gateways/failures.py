"""Vendors' errors, in all their shapes, to ours.

The status decides; a message is read only to be passed on, and only where the vendor refuses the
request itself or says why it failed. Source: docs/vendors.md and the shapes listed in `detail`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from app import wire
from app.errors import (
    GatewayError,
    VendorAuthentication,
    VendorFailed,
    VendorOverloaded,
    VendorRateLimited,
    VendorRefused,
    VendorTimeout,
)
from app.gateways.base import Vendor, plain_mapping

#: Longest vendor message that is passed on, in characters.
MESSAGE_LIMIT = 1000

REFUSED = frozenset({400, 404, 413, 422})
AUTHENTICATION = frozenset({401, 402, 403})
TIMEOUT = frozenset({408, 504, 524})
OVERLOADED = frozenset({503, 529})

#: Codes that mean that our money is at an end, whatever the status.
MONEY_CODES = frozenset({"insufficient_quota", "billing_error", "enforced_spend_limit_reached"})


@dataclass(frozen=True, slots=True)
class Detail:
    """What an error body says; None where it does not."""

    message: str | None = None
    code: str | None = None
    param: str | None = None
    status: int | None = None


def error_in(payload: Any) -> Any:
    """Return the error inside a JSON answer that came with status 200, or None."""
    body = plain_mapping(payload)
    if body.get("error"):
        return body["error"]
    return body if body.get("object") == "error" else None


def detail(error: Any) -> Detail:
    """Read an error value.

    Shapes: {"message", "type", "param", "code"}; "a sentence"; {"detail": …} or {"message": …}
    at top level; {"code": int}; a list holding one of these; anything else says nothing.
    """
    if isinstance(error, list):
        error = error[0] if error else None
    if isinstance(error, str):
        return Detail(message=error)
    body = plain_mapping(error)
    if "error" in body:
        inner = detail(body["error"])
        return inner if inner.code else Detail(inner.message, _text(body.get("code")), inner.param)
    message = body.get("message") or body.get("detail") or body.get("msg")
    if isinstance(message, list | dict):
        return detail(message)
    code = body.get("code")
    kind = body.get("type")
    status = next(
        (
            n
            for k in ("code", "status_code", "http_status_code", "status")
            if (n := _status(body.get(k)))
        ),
        400 if kind in ("invalid_request_error", "BadRequestError") else None,
    )
    return Detail(_text(message), _text(code) or _text(kind), _text(body.get("param")), status)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _status(value: Any) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) == 3:
        value = int(value)
    return value if type(value) is int and 400 <= value <= 599 else None


def from_response(
    vendor: Vendor, status: int, headers: Mapping[str, str], body: bytes
) -> GatewayError:
    """Return the error for a response whose status is not 200."""
    try:
        said = detail(wire.load_vendor(body))
    except ValueError:  # HTML from a proxy, or nothing at all: the status says enough
        said = Detail()
    return failure(vendor, status, said, headers)


def failure(
    vendor: Vendor, status: int | None, said: Detail, headers: Mapping[str, str] | None = None
) -> GatewayError:
    """Return our error for a vendor's status and words.

    `status` None is a failure reported inside an answer with status 200.
    """
    name, code = vendor.name, status or said.status
    if code in AUTHENTICATION or said.code in MONEY_CODES:
        return VendorAuthentication(
            f"The vendor `{name}` refused this gateway's credentials or balance.",
            vendor_status=code,
        )
    message = scrubbed(vendor, said.message)
    if code in REFUSED:
        return VendorRefused(
            message or f"The vendor `{name}` refused the request (HTTP {code}).",
            vendor_status=code,
            param=said.param,
            code=said.code,
        )
    retry = retry_after(headers or {})
    why = f": {message}" if message else f" (HTTP {code})." if code else "."
    if code == 429:
        return VendorRateLimited(
            f"The vendor `{name}` limits our requests{why}", vendor_status=code, headers=retry
        )
    if code in OVERLOADED:
        return VendorOverloaded(
            f"The vendor `{name}` is overloaded{why}", vendor_status=code, headers=retry
        )
    if code in TIMEOUT:
        return VendorTimeout(
            f"The vendor `{name}` took too long{why}", vendor_status=code, billable=True
        )
    return VendorFailed(f"The vendor `{name}` failed{why}", vendor_status=code)


_KEY_LIKE = re.compile(r"\b(?:sk|tg|pk|rk|gsk|xai|key)[-_][\w*.-]{6,}")


def scrubbed(vendor: Vendor, message: str | None) -> str | None:
    """Return a vendor's message, cut to size and without anything that looks like a key."""
    if message is None:
        return None
    if vendor.api_key:
        message = message.replace(vendor.api_key, "***")
    return _KEY_LIKE.sub("***", message)[:MESSAGE_LIMIT]


def retry_after(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that tell a client when to try again; garbage is left out.

    Source: RFC 9110, section 10.2.3 (seconds or an HTTP date), and `retry-after-ms` as OpenAI's
    clients read it.
    """
    found = {}
    value = headers.get("retry-after", "").strip()
    if (value.isascii() and value.isdigit() and len(value) < 9) or _is_http_date(value):
        found["retry-after"] = value
    millis = headers.get("retry-after-ms", "").strip()
    if millis.isascii() and millis.isdigit() and len(millis) < 12:
        found["retry-after-ms"] = millis
        found.setdefault("retry-after", str(-(-int(millis) // 1000)))
    return found


def _is_http_date(value: str) -> bool:
    try:
        return bool(value) and value.isascii() and parsedate_to_datetime(value).tzinfo is not None
    except ValueError:
        return False
