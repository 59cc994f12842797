"""Anthropic's errors: those that mean Tollgate's billing, and prompts that are too long."""

from collections.abc import Mapping
from dataclasses import replace

from app.gateways.conversation.overflow import TOO_LONG, is_too_long
from app.gateways.decoding import failures
from app.vendors.vendor import Vendor
from app.vocabulary.errors import GatewayError

#: Codes that mean Tollgate's billing, whatever the status.
BILLING_CODES = frozenset(
    {"contract_spend_limit_reached", "enforced_spend_limit_reached", "organization_on_hold"}
)

#: Part of the message of an empty account, which comes with status 400 and no code of its own.
LOW_BALANCE = "credit balance is too low"


def failure(
    vendor: Vendor,
    status: int | None,
    detail: failures.Detail,
    headers: Mapping[str, str] | None = None,
) -> GatewayError:
    """Return the error for a status and an error body; `status` None: it came with status 200."""
    message = detail.message or ""
    if detail.code in BILLING_CODES or LOW_BALANCE in message:
        detail = replace(detail, type="billing_error")
    elif is_too_long(message):
        detail = replace(detail, code=TOO_LONG)
    return failures.failure(vendor, status, detail, headers)
