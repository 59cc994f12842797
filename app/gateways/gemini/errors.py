"""Errors of Google's APIs."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from app.gateways.decoding import failures
from app.gateways.decoding.parsing import plain_mapping
from app.vendors.vendor import Vendor
from app.vocabulary.errors import GatewayError

#: Codes and reasons that mean Tollgate's credentials or billing: an invalid key, or a project in
#: the wrong state. Both come with status 400.
CREDENTIALS = frozenset({"API_KEY_INVALID", "FAILED_PRECONDITION"})

#: What the message of a request beyond the model's context has, in lower case.
TOO_LONG = "input token count"


def is_error(payload: Any) -> bool:
    """Whether a JSON response is an error, or a list of one, as Google also sends."""
    return bool(_unwrapped(payload))


def _unwrapped(payload: Any) -> Mapping[str, Any]:
    first = payload[0] if isinstance(payload, list) and payload else payload
    error = plain_mapping(first).get("error")
    return plain_mapping({"message": error} if isinstance(error, str) else error)


def failure(
    vendor: Vendor, status: int | None, payload: Any, headers: Mapping[str, str]
) -> GatewayError:
    """Return the error for an error body of Google's.

    Shape: {"error": {"code", "message", "status", "details": [{"@type": "…ErrorInfo", "reason"},
    {"@type": "…RetryInfo", "retryDelay": "30.5s"}]}}, perhaps in a list.
    `status` None: it came with status 200.
    """
    error = _unwrapped(payload)
    name, reason = error.get("status"), next(_detail_values(error, "reason"), None)
    detail = failures.detail_of(payload)
    detail = replace(detail, type=reason or detail.type)
    if isinstance(name, str) and name:
        detail = replace(detail, code=name)
    if not CREDENTIALS.isdisjoint((detail.code, detail.type)):
        detail = replace(detail, type="authentication_error")
    elif TOO_LONG in (detail.message or "").lower():
        detail = replace(detail, code=failures.TOO_LONG)
    delay_s = next(filter(None, map(_seconds, _detail_values(error, "retryDelay"))), None)
    if delay_s is not None and "retry-after" not in headers:
        headers = {**headers, "retry-after": str(delay_s)}
    return failures.failure(vendor, status, detail, headers)


def _detail_values(error: Mapping[str, Any], key: str) -> Iterator[str]:
    details = error.get("details")
    for item in details if isinstance(details, list) else ():
        value = plain_mapping(item).get(key)
        if isinstance(value, str) and value:
            yield value


_DURATION = re.compile(r"(\d{1,8})(\.\d{1,9})?s", re.ASCII)


def _seconds(duration: str) -> int | None:
    """Return a protobuf duration in whole seconds, rounded up."""
    found = _DURATION.fullmatch(duration)
    return int(found[1]) + bool(found[2]) if found else None
