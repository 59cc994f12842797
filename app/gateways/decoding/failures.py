"""Vendors' errors, in all their shapes, to ours.

The status decides; a message is read only to be passed on, and only where the vendor refuses the
request itself or says why it failed. Source: docs/vendors.md and the shapes listed in `detail`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from app.formats import strict_json
from app.gateways.base import plain_mapping
from app.gateways.decoding.choices.texts import mended
from app.gateways.decoding.retry_hints import retry_after, should_retry
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
    WrongEndpoint,
)

#: Longest vendor message that is passed on, and longest code or name of a parameter; characters.
MESSAGE_LIMIT = 1000
NAME_LIMIT = 100

REFUSED = frozenset({400, 404, 413, 422})
AUTHENTICATION = frozenset({401, 402, 403})
TIMEOUT = frozenset({408, 504, 524})
OVERLOADED = frozenset({498, 503, 529})  # 498 is Groq's: no flexible capacity just now

#: Codes and types that mean our key or our money, whatever the status.
OURS = frozenset(
    {
        "authentication_error",
        "billing_error",
        "contract_spend_limit_reached",
        "enforced_spend_limit_reached",
        "insufficient_quota",
        "invalid_api_key",
        "organization_on_hold",
        # Google's: a bad key comes with status 400, as does a project in no state to be served
        "API_KEY_INVALID",
        "FAILED_PRECONDITION",
    }
)

#: Anthropic's words for an empty account, which come with status 400 and no code of their own.
OUR_BALANCE = "credit balance is too low"

#: Words by which a vendor says that the prompt is against its rules (xAI, OpenRouter; with 403).
MODERATED = re.compile(r"usage guidelines|moderation|flagged", re.IGNORECASE)

#: Words by which a vendor says that the model is on its other endpoint: OpenAI's 404 and Azure's
#: 400. The negative form holds the other one's words, so it comes first.
ELSEWHERE: tuple[tuple[str, Literal["chat", "native"]], ...] = (
    ("not a chat model", "native"),
    ("chatCompletion operation does not work", "native"),
    ("is a chat model", "chat"),
    ("completion operation does not work", "chat"),
)

#: What a type means, for an error that came with status 200 and names no other.
STATUS_OF_TYPE: Mapping[str, int] = {
    "invalid_request_error": 400,
    "BadRequestError": 400,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "timeout_error": 504,
    "NotFoundError": 404,
    "rate_limit_error": 429,
    "overloaded_error": 529,
    # Text Generation Inference's
    "validation": 422,
    "overloaded": 429,
}


@dataclass(frozen=True, slots=True)
class Detail:
    """What an error body says; None where it does not."""

    message: str | None = None
    code: str | None = None
    param: str | None = None
    type: str | None = None
    status: int | None = None


def error_in(payload: Any) -> Any:
    """Return the error inside a JSON answer that came with status 200, or None."""
    if not isinstance(payload, dict):
        return None
    if payload.get("error") or payload.get("object") == "error":
        return payload
    aside = payload.get("x_groq")
    return aside if aside and plain_mapping(aside).get("error") else None


def detail(error: Any) -> Detail:
    """Read an error body.

    Shapes: {"error": one of these}; {"message", "type", "param", "code"}; "a sentence"; {"detail"
    or "msg" or "content": one of these}; {"code": int}; {"details": {"error_code"}}; a list whose
    first item is one of these; anything else says nothing. What an inner one leaves open, the one
    around it may say.
    """
    if isinstance(error, list):
        error = error[0] if error else None
    if isinstance(error, str):
        return Detail(message=error or None)
    body = plain_mapping(error)
    words = [
        said for name in WORDS if isinstance(said := body.get(name), str | list | dict) and said
    ]
    inner = detail(words[0]) if words else Detail()
    return Detail(
        message=inner.message,
        code=inner.code
        or _text(body.get("code"))
        or _text(plain_mapping(body.get("details")).get("error_code")),
        param=inner.param or _text(body.get("param")),
        type=inner.type or _text(body.get("type")) or _text(body.get("error_type")),
        status=inner.status or next(filter(None, (_status(body.get(k)) for k in STATUSES)), None),
    )


#: Where an error body has its message, or another error body; and where it may have a status.
WORDS = ("error", "message", "detail", "msg", "content")
STATUSES = ("code", "status_code", "http_status_code", "status")


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _status(value: Any) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) == 3:
        value = int(value)
    return value if type(value) is int and 400 <= value <= 599 else None


def from_response(
    vendor: Vendor, status: int, headers: Mapping[str, str], body: bytes
) -> GatewayError:
    """Return the error for a response whose status is no success."""
    try:
        said = detail(strict_json.load_vendor(body))
    except ValueError:  # HTML from a proxy, or nothing at all: the status says enough
        said = Detail()
    return failure(vendor, status, said, headers)


def failure(
    vendor: Vendor, status: int | None, said: Detail, headers: Mapping[str, str] | None = None
) -> GatewayError:
    """Return our error for a vendor's status and words.

    `status` None is a failure reported inside an answer with status 200.
    """
    name, code = vendor.name, status or said.status or STATUS_OF_TYPE.get(said.type or "")
    if code == 403 and MODERATED.search(said.message or ""):
        code = 400  # of what the prompt says, not of who we are
    ours = not OURS.isdisjoint((said.code, said.type)) or OUR_BALANCE in (said.message or "")
    if code in AUTHENTICATION or ours:
        return VendorAuthentication(
            f"The vendor `{name}` refused this gateway's credentials or balance.",
            vendor_status=code,
        )
    error = _error(vendor, status, code, said)
    hints = {**retry_after(headers or {}), **should_retry(headers or {})}
    if not isinstance(error, VendorRejected):
        error.headers = {**hints, **error.headers}
    elif SHOULD_RETRY in hints:
        error.headers[SHOULD_RETRY] = hints[SHOULD_RETRY]
    return error


def _error(vendor: Vendor, status: int | None, code: int | None, said: Detail) -> GatewayError:
    message = scrubbed(vendor, said.message)
    if code in REFUSED:
        return _refused(vendor, code, said, message)
    if code is not None and 300 <= code < 400:
        return VendorFailed(
            f"The vendor `{vendor.name}` redirects (HTTP {code}): its base_url is wrong.",
            vendor_status=code,
            headers={SHOULD_RETRY: "false"},
        )
    why = f": {message}" if message else f" (HTTP {code})." if code else "."
    if code == 429:
        return VendorRateLimited(
            f"The vendor `{vendor.name}` limits our requests{why}", vendor_status=code
        )
    if code in OVERLOADED:
        return VendorOverloaded(
            f"The vendor `{vendor.name}` is overloaded{why}", vendor_status=code
        )
    if code in TIMEOUT:
        # 408 says that the request never came whole; inside an answer, that the model was slow.
        billable = code != 408 or status is None
        return VendorTimeout(
            f"The vendor `{vendor.name}` took too long{why}", vendor_status=code, billable=billable
        )
    return VendorFailed(f"The vendor `{vendor.name}` failed{why}", vendor_status=code)


def _refused(vendor: Vendor, code: int, said: Detail, message: str | None) -> VendorRejected:
    message = message or f"The vendor `{vendor.name}` refused the request (HTTP {code})."
    param = scrubbed(vendor, said.param, NAME_LIMIT)
    name = scrubbed(vendor, said.code, NAME_LIMIT)
    wants = next((wants for words, wants in ELSEWHERE if words in message), None)
    if wants is None:
        return VendorRejected(message, vendor_status=code, param=param, code=name)
    return WrongEndpoint(message, wants=wants, vendor_status=code, param=param, code=name)


_KEY_LIKE = re.compile(
    r"""
    \b(?:sk|gsk|xai|nvapi)[-_][\w*.-]{6,}              # OpenAI and those who took after it
    | \b(?:fw|hf|key|pk|r8|rk|tg)[-_](?=\w*[\d*])[\w*.-]{6,}  # words begin so, too
    | \bAIza[\w*-]{8,} | \bA[KS]IA[A-Z0-9*]{8,}       # Google, AWS
    | \beyJ[\w-]{8,}\.[\w.-]+                         # a JSON web token
    | (?<=Bearer[ ])[\w.~+/*-]{6,}
    | (?<=[?&]key=)[^\s&"']+ | (?<=[_-]key=)[^\s&"']+ | (?<=token=)[^\s&"']+
    """,
    re.VERBOSE,
)

#: Shorter ones are no secrets but words ("EMPTY", "none"), as keyless servers have them.
SECRET_LENGTH = 8


def scrubbed(vendor: Vendor, message: str | None, limit: int = MESSAGE_LIMIT) -> str | None:
    """Return a vendor's words, cut to size and without anything that looks like a key."""
    if message is None:
        return None
    message = mended(message)
    for secret in (vendor.api_key, *vendor.headers.values()):
        if secret and len(secret) >= SECRET_LENGTH:
            message = message.replace(secret, "***")
    return _KEY_LIKE.sub("***", message)[:limit]
