"""Errors of OpenAI and of the vendors that are compatible with it.

A vendor's own statuses and messages are data of its entry: the `quirks` below.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from marshmallow import fields, validate

from app.gateways.decoding import failures
from app.vendors.vendor import Vendor
from app.vocabulary.errors import GatewayError, VendorRejected, WrongEndpoint

QUIRKS: Mapping[str, fields.Field[Any]] = {
    # the vendor's own statuses -> the standard ones that they mean
    "statuses": fields.Dict(
        keys=fields.Integer(), values=fields.Integer(validate=validate.Range(400, 599))
    ),
    # parts of the message with which the vendor's 403 rejects a prompt, not Tollgate's credentials
    "moderation": fields.List(fields.String()),
    # parts of bodies that mean a rejection of the request, whatever the status
    "refusals": fields.List(fields.String()),
}

#: The status of a rejection, for servers that send only server errors.
REJECTED = 400

#: Parts of the messages with which OpenAI (404) and Azure (400) reject a model on the wrong
#: endpoint. The negated ones contain the others, so they come first.
OTHER_ENDPOINT: tuple[tuple[str, Literal["chat", "native"]], ...] = (
    ("not a chat model", "native"),
    ("chatCompletion operation does not work", "native"),
    ("is a chat model", "chat"),
    ("completion operation does not work", "chat"),
)


def decode_error(
    vendor: Vendor, status: int, headers: Mapping[str, str], body: bytes
) -> GatewayError:
    """Return the error of a response without success."""
    if any(part.encode() in body for part in vendor.quirks.get("refusals", ())):
        status = REJECTED
    return failure(vendor, status, failures.detail_in(body), headers)


def failure(
    vendor: Vendor,
    status: int | None,
    detail: failures.Detail,
    headers: Mapping[str, str] | None = None,
) -> GatewayError:
    """Return the error for a status and a body; `status` None: it came with status 200."""
    statuses = vendor.quirks.get("statuses", {})
    status = statuses.get(status, status)
    detail = replace(detail, status=statuses.get(detail.status, detail.status))
    if 403 in (status, detail.status) and _is_moderation(vendor, detail.message or ""):
        status = 400
    error = failures.failure(vendor, status, detail, headers)
    return _on_other_endpoint(error) if isinstance(error, VendorRejected) else error


def _is_moderation(vendor: Vendor, message: str) -> bool:
    message = message.lower()
    return any(part in message for part in vendor.quirks.get("moderation", ()))


def _on_other_endpoint(error: VendorRejected) -> VendorRejected:
    wants = next((wants for part, wants in OTHER_ENDPOINT if part in error.message), None)
    return error if wants is None else WrongEndpoint.from_rejected(error, wants)


def public_name(vendor: Vendor, param: str | None) -> str | None:
    """Return the caller's name for the `param` of a vendor's error, e.g. for `random_seed`.

    Both names of the limit are the caller's own.
    """
    if param is None:
        return None
    names: dict[str, str] = {
        theirs: ours
        for rules in vendor.quirks.get("models", {}).values()
        for ours, theirs in rules.get("renames", {}).items()
        if ours != "max_tokens"
    }
    return names.get(re.split(r"[.\[]", param, maxsplit=1)[0], param)
