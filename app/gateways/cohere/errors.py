"""Cohere's errors."""

from collections.abc import Mapping
from dataclasses import replace

from app.gateways.decoding import failures
from app.vendors.vendor import Vendor
from app.vocabulary.errors import GatewayError

#: Cohere's own statuses -> the standard ones that they mean; 498 is an invalid token.
STATUSES: Mapping[int, int] = {498: 401}

#: What the message of a request beyond the model's context has, in lower case.
TOO_LONG = "too many tokens"


def failure(
    vendor: Vendor,
    status: int | None,
    detail: failures.Detail,
    headers: Mapping[str, str] | None = None,
) -> GatewayError:
    """Return the error for a status and an error body; `status` None: it came with status 200."""
    if TOO_LONG in (detail.message or "").lower():
        detail = replace(detail, code=failures.TOO_LONG, status=400)
    standard = None if status is None else STATUSES.get(status, status)
    return failures.failure(vendor, standard, detail, headers)
