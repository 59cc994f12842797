"""Amazon Bedrock's errors to ours: by the exception's name, which its HTTP status only groups.

The same names come with a status other than 200, and as messages in the middle of a stream.
Source: botocore's model of bedrock-runtime, 2023-09-30.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from app.formats import strict_json
from app.gateways.base import plain_mapping
from app.gateways.bedrock.event_stream import Message
from app.gateways.decoding import failures
from app.vendors.vendor import Vendor
from app.vocabulary.errors import GatewayError, VendorRejected, WrongEndpoint

#: What an exception means, where its HTTP status says something else, or where it came without.
STATUS_OF: Mapping[str, int] = {
    "accessdenied": 403,
    "expiredtoken": 403,
    "internalserver": 500,
    "invalidsignature": 403,
    "modelnotready": 429,
    "resourcenotfound": 404,
    "servicequotaexceeded": 429,  # sent as 400
    "serviceunavailable": 503,
    "throttling": 429,
    "unrecognizedclient": 403,
    "validation": 400,
}

#: Words with which a model's own endpoint turns up: it has no chat template, or takes no prompt.
_WANTS: tuple[tuple[re.Pattern[str], Literal["chat", "native"]], ...] = (
    (re.compile(r"(?:does not|doesn['\u2019]t) support the Converse"), "native"),
    (re.compile(r"required key \[messages\]|extraneous key \[(?:prompt|inputText)\]"), "chat"),
)


def decode_error(
    vendor: Vendor, status: int, headers: Mapping[str, str], body: bytes
) -> GatewayError:
    """Return the error for a response whose status is not 200."""
    try:
        payload = plain_mapping(strict_json.load_vendor(body))
    except ValueError:  # HTML from a proxy, or nothing at all
        payload = {}
    # "ValidationException:http://internal.amazon.com/…", or "com.amazon.coral#ValidationException"
    named = headers.get("x-amzn-errortype") or payload.get("__type")
    name = re.split("[:#]", named)[-1 if "#" in named else 0] if isinstance(named, str) else ""
    return _error(vendor, name, status, payload, headers)


def decode_exception(vendor: Vendor, message: Message) -> GatewayError:
    """Return the error that a message in a stream reports."""
    if message.header(":message-type") == "error":
        said = {"message": message.header(":error-message")}
        return _error(vendor, message.header(":error-code"), None, said)
    try:
        payload = plain_mapping(strict_json.load_vendor(message.payload))
    except ValueError:
        payload = {}
    return _error(vendor, message.header(":exception-type"), None, payload)


def _error(
    vendor: Vendor,
    name: str,
    status: int | None,
    payload: Mapping[str, Any],
    headers: Mapping[str, str] | None = None,
) -> GatewayError:
    kind = name.removesuffix("Exception").lower()
    original = payload.get("originalStatusCode")  # of the model behind the service
    if kind.startswith("model") and type(original) is int and 400 <= original <= 599:
        status = original
    else:
        status = STATUS_OF.get(kind, status)
    message = next((said for k in MESSAGES if isinstance(said := payload.get(k), str) and said), "")
    said = failures.Detail(message=message, code=name or None)
    if kind == "modeltimeout":  # sent as 408, but the model has worked: as if an answer had begun
        status, said = None, replace(said, status=408)
    error = failures.failure(vendor, status, said, headers)
    return _on_other_endpoint(error) if isinstance(error, VendorRejected) else error


#: Where an error has its message; the one of the model behind the service says more.
MESSAGES = ("originalMessage", "message", "Message")


def _on_other_endpoint(error: VendorRejected) -> VendorRejected:
    for words, wants in _WANTS:
        if words.search(error.message):
            return WrongEndpoint(
                error.message,
                wants=wants,
                vendor_status=error.vendor_status or error.status,
                code=error.code,
            )
    return error
