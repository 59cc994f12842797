"""Vendors' errors, in all their shapes, as GatewayErrors.

The status decides. A message is only passed on, and interpreted only for `overflow`; vendors'
modules do that otherwise.
Source: docs/vendors.md and the shapes listed in `detail_of`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from app.formats import strict_json
from app.gateways.decoding.error_types import status_named
from app.gateways.decoding.overflow import CODE, is_overflow
from app.gateways.decoding.parsing import plain_mapping
from app.gateways.decoding.retry_hints import retry_after, should_retry
from app.gateways.decoding.secrets import scrubbed, without_own_secrets
from app.vendors.vendor import Vendor
from app.vocabulary.errors import (
    SHOULD_RETRY,
    GatewayError,
    VendorAuthentication,
    VendorFailed,
    VendorOverloaded,
    VendorRateLimited,
    VendorRejected,
    VendorTimeout,
)

#: Longest code or name of a parameter that is passed on, in characters.
NAME_LIMIT = 100

REJECTED_STATUS = 400
REJECTED = frozenset({REJECTED_STATUS, 404, 413, 422})
AUTHENTICATION = frozenset({401, 402, 403})
TIMEOUT = frozenset({408, 504, 524})
OVERLOADED = frozenset({503, 529})

#: Of the other statuses below 500, those that pass: a conflict, and a request that came too early.
#: All others, such as 451, say that the same request fails again; so do these of the servers.
MAY_PASS = frozenset({409, 425})
NEVER = frozenset({501, 505})

#: The contract's code for a request beyond the model's context.
TOO_LONG = "context_length_exceeded"

#: Codes and types that mean Tollgate's credentials or billing, whatever the status.
CREDENTIALS = frozenset(
    {"authentication_error", "billing_error", "insufficient_quota", "invalid_api_key"}
)


@dataclass(frozen=True, slots=True)
class Detail:
    """The fields of an error body; None if it lacks them."""

    message: str | None = None
    code: str | None = None
    param: str | None = None
    type: str | None = None
    status: int | None = None
    #: What the error holds beside its message for the caller alone; see BESIDE.
    beside: Mapping[str, Any] = field(default_factory=dict)


def detail_in(body: bytes) -> Detail:
    """Read the body of an error response; an empty Detail if it is not JSON."""
    try:
        return detail_of(strict_json.load_vendor(body))
    except ValueError:  # HTML from a proxy, or an empty body
        return Detail()


def detail_of(error: Any) -> Detail:
    """Read an error.

    Shapes: {"error": one of these}; {"message", "type", "param", "code"}; "a sentence"; a text with
    one of these as JSON; {"detail" or "msg" or "content": one of these}; {"code": int};
    {"details": {"error_code"}}; pydantic's {"msg", "loc": ["body", "messages", 0, "name"]}; a list
    whose first item is one of these; an empty Detail for anything else. Fields that an inner error
    lacks are taken from the one around it. OpenRouter's vendors speak in `metadata.raw`.
    """
    if isinstance(error, list):
        error = error[0] if error else None
    if isinstance(error, str):
        return _said(error)
    body = plain_mapping(error)
    values = (body.get(name) for name in MESSAGES)
    value = next((v for v in values if isinstance(v, str | list | dict) and v), None)
    inner = Detail() if value is None else detail_of(value)
    return Detail(
        message=": ".join(filter(None, (inner.message, _upstream(body.get("metadata"))))) or None,
        code=inner.code
        or _text(body.get("code"))
        or _text(plain_mapping(body.get("details")).get("error_code")),
        param=inner.param or _text(body.get("param")) or _path(body.get("loc")),
        type=inner.type or _text(body.get("type")) or _text(body.get("error_type")),
        status=inner.status or next(filter(None, (_status(body.get(k)) for k in STATUSES)), None),
        beside={n: body[n] for n in BESIDE if body.get(n)} or inner.beside,
    )


#: Where an error has its message, or another error; and where it may have a status.
MESSAGES = ("error", "message", "detail", "msg", "content", "errors", "error_message", "error_msg")
STATUSES = ("code", "status_code", "http_status_code", "status", "error_code")

#: The status that comes before an error's JSON, where a program has joined them.
_JOINED = re.compile(r"(?:Error code: )?([45]\d\d)(?: -|:)? (?=[{\[])")

#: Groq's text of a reply that does not fit the tools or the schema; Azure's verdicts of its filter.
BESIDE = ("failed_generation", "innererror")


def _upstream(metadata: Any) -> str | None:
    """Return what an error's `metadata.raw` says."""
    raw = plain_mapping(metadata).get("raw")
    return _said(raw).message if isinstance(raw, str) else None


def _said(text: str) -> Detail:
    """Read a message: a sentence, or another error as JSON, as servers between us pass it on.

    A status may come before the JSON.
    """
    joined = _JOINED.match(text)
    rest = text[joined.end() :] if joined else text
    if not rest.lstrip().startswith(("{", "[")):
        return Detail(message=text or None)
    inner = detail_in(rest.encode(errors="replace"))  # it may have halves of characters
    status = inner.status or (int(joined[1]) if joined else None)
    return replace(inner, message=inner.message or text, status=status)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _path(location: Any) -> str | None:
    """Return the path of a field, e.g. `messages[0].name`, from the list of its parts."""
    if not isinstance(location, list):
        return None
    path = "".join(
        f"[{part}]" if type(part) is int else f".{part}"
        for part in location
        if isinstance(part, str | int) and part != "body"
    )
    return path.removeprefix(".") or None


def _status(value: Any) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) == 3:
        value = int(value)
    return value if type(value) is int and 400 <= value <= 599 else None


def from_response(
    vendor: Vendor, status: int, headers: Mapping[str, str], body: bytes
) -> GatewayError:
    """Return the error of a response without success."""
    return failure(vendor, status, detail_in(body), headers)


def failure(
    vendor: Vendor, status: int | None, detail: Detail, headers: Mapping[str, str] | None = None
) -> GatewayError:
    """Return the error for a vendor's status and error body.

    `status` None is a failure that the vendor reported in a response with status 200.
    """
    error = _failure(vendor, status, detail, headers or {})
    error.vendor_message = scrubbed(vendor, detail.message)
    return error


def _failure(
    vendor: Vendor, status: int | None, detail: Detail, headers: Mapping[str, str]
) -> GatewayError:
    code = status or detail.status or status_named(detail.type, detail.code)
    if code in AUTHENTICATION or not CREDENTIALS.isdisjoint((detail.code, detail.type)):
        return VendorAuthentication(
            f"The vendor `{vendor.name}` rejected Tollgate's credentials or billing.",
            vendor_status=code,
        )
    if code is None and is_overflow(detail.message, detail.code, detail.type):
        code = REJECTED_STATUS
    error = _error(vendor, status, code, detail)
    hints = {**retry_after(headers), **should_retry(headers)}
    if not isinstance(error, VendorRejected):
        error.headers = {**hints, **error.headers}
        if type(error) is VendorFailed and _is_final(code):
            error.headers.setdefault(SHOULD_RETRY, "false")
    elif SHOULD_RETRY in hints:
        error.headers[SHOULD_RETRY] = hints[SHOULD_RETRY]
    return error


def _error(vendor: Vendor, status: int | None, code: int | None, detail: Detail) -> GatewayError:
    message = scrubbed(vendor, detail.message)
    if code in REJECTED:
        return _rejected(vendor, code, detail, message)
    if code is not None and 300 <= code < 400:
        return VendorFailed(
            f"The vendor `{vendor.name}` redirects (HTTP {code}): correct its base_url.",
            vendor_status=code,
            headers={SHOULD_RETRY: "false"},
        )
    why = f": {message}" if message else f" (HTTP {code})." if code else "."
    if code == 429:
        return VendorRateLimited(
            f"The vendor `{vendor.name}` limits Tollgate's requests{why}", vendor_status=code
        )
    if code in OVERLOADED:
        return VendorOverloaded(
            f"The vendor `{vendor.name}` is overloaded{why}", vendor_status=code
        )
    if code in TIMEOUT:
        # As a status, 408 means that the vendor did not get the whole request; in a response, that
        # the model was slow.
        billable = code != 408 or status is None
        return VendorTimeout(
            f"The vendor `{vendor.name}` took too long{why}", vendor_status=code, billable=billable
        )
    return VendorFailed(f"The vendor `{vendor.name}` failed{why}", vendor_status=code)


def _is_final(code: int | None) -> bool:
    """Return whether the same request would fail again, by the status of a failure."""
    return code is not None and (code < 500 or code in NEVER) and code not in MAY_PASS


def _rejected(vendor: Vendor, code: int, detail: Detail, message: str | None) -> VendorRejected:
    overflows = is_overflow(detail.message, detail.code, detail.type)
    error = VendorRejected(
        message or f"The vendor `{vendor.name}` rejected the request (HTTP {code}).",
        vendor_status=code,
        param=scrubbed(vendor, detail.param, NAME_LIMIT),
        code=CODE if overflows else scrubbed(vendor, detail.code, NAME_LIMIT),
    )
    error.beside = without_own_secrets(vendor, detail.beside)
    if overflows:
        error.status = REJECTED_STATUS
    return error
