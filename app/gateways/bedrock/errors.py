"""Amazon Bedrock's errors, by the name of the exception: one HTTP status may have several.

The same names come with a status other than 200, and as messages in the middle of a stream.
Source: botocore's model of bedrock-runtime, 2023-09-30.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from app.formats import strict_json
from app.gateways.bedrock.event_stream import Message
from app.gateways.conversation.overflow import TOO_LONG, is_too_long
from app.gateways.decoding import failures
from app.gateways.decoding.parsing import plain_mapping
from app.vendors.vendor import Vendor
from app.vocabulary.errors import GatewayError, VendorRejected, WrongEndpoint

#: The status that an exception means, if its HTTP status differs or it came without one.
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

#: Messages with which Bedrock rejects a model on the wrong endpoint: it has no chat template, or
#: accepts no prompt.
OTHER_ENDPOINT: tuple[tuple[re.Pattern[str], Literal["chat", "native"]], ...] = (
    (re.compile(r"(?:does not|doesn['\u2019]t) support the Converse"), "native"),
    (re.compile(r"required key \[messages\]|extraneous key \[(?:prompt|inputText)\]"), "chat"),
)


def decode_error(
    vendor: Vendor, status: int, headers: Mapping[str, str], body: bytes
) -> GatewayError:
    """Return the error of a response without success."""
    try:
        payload = plain_mapping(strict_json.load_vendor(body))
    except ValueError:  # HTML from a proxy, or an empty body
        payload = {}
    # "ValidationException:http://internal.amazon.com/…", or "com.amazon.coral#ValidationException"
    named = headers.get("x-amzn-errortype") or payload.get("__type")
    name = re.split("[:#]", named)[-1 if "#" in named else 0] if isinstance(named, str) else ""
    return _error(vendor, name, status, payload, headers)


def decode_exception(vendor: Vendor, message: Message) -> GatewayError:
    """Return the error that a message in a stream reports."""
    if message.header(":message-type") == "error":
        content = {"message": message.header(":error-message")}
        return _error(vendor, message.header(":error-code"), None, content)
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
    texts = (payload.get(key) for key in MESSAGES)
    message = next((text for text in texts if isinstance(text, str) and text), "")
    is_overflow = kind == "validation" and is_too_long(message)
    detail = failures.Detail(message=message, code=TOO_LONG if is_overflow else name or None)
    if kind == "modeltimeout":  # sent as 408, but the model has worked, and may be billed
        status, detail = None, replace(detail, status=408)
    error = failures.failure(vendor, status, detail, headers)
    return _on_other_endpoint(error) if isinstance(error, VendorRejected) else error


#: Where an error has its message; that of the model behind the service is more specific.
MESSAGES = ("originalMessage", "message", "Message")


def _on_other_endpoint(error: VendorRejected) -> VendorRejected:
    wants = next((wants for part, wants in OTHER_ENDPOINT if part.search(error.message)), None)
    return error if wants is None else WrongEndpoint.from_rejected(error, wants)
