"""Errors as Google's APIs write them, in our terms."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from app.gateways.base import plain_mapping
from app.gateways.decoding import failures
from app.vendors.vendor import Vendor
from app.vocabulary.errors import GatewayError


def is_error(payload: Any) -> bool:
    """Say whether a JSON answer is an error; Google also sends lists of one."""
    return bool(_unwrapped(payload))


def _unwrapped(payload: Any) -> Mapping[str, Any]:
    first = payload[0] if isinstance(payload, list) and payload else payload
    error = plain_mapping(first).get("error")
    return plain_mapping({"message": error} if isinstance(error, str) else error)


def failure(
    vendor: Vendor, status: int | None, payload: Any, headers: Mapping[str, str]
) -> GatewayError:
    """Return our error for one of Google's.

    Shape: {"error": {"code", "message", "status", "details": [{"@type": "…ErrorInfo", "reason"},
    {"@type": "…RetryInfo", "retryDelay": "30.5s"}]}}, perhaps in a list.
    `status` None is an error inside an answer with status 200.
    """
    error = _unwrapped(payload)
    word, reason = error.get("status"), next(_told(error, "reason"), None)
    said = failures.detail(payload)
    said = replace(said, type=reason or said.type)
    if isinstance(word, str) and word:
        said = replace(said, code=word)
    delay_s = next(filter(None, map(_seconds, _told(error, "retryDelay"))), None)
    if delay_s is not None and "retry-after" not in headers:
        headers = {**headers, "retry-after": str(delay_s)}
    return failures.failure(vendor, status, said, headers)


def _told(error: Mapping[str, Any], key: str) -> Iterator[str]:
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
