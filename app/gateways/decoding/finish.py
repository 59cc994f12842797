"""Finish reasons: every vendor's values, mapped to the contract's, or to a failure.

An unknown value shows at least that the text ended: it becomes "length", after which a caller may
continue the text, and goes with the choice. Source: docs/vendors.md.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from app.vendors.vendor import Vendor
from app.vocabulary.completion import Ending

REASONS: Mapping[str, Ending] = {
    "stop": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "stop_sequence": "stop",
    "repetition": "stop",
    # Without any call in the choice, these only mean that the model stopped: see `choices`.
    "tool_calls": "tool_calls",
    "function_call": "function_call",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
    "refusal": "content_filter",
    "error": "error",
    "abort": "error",
    "cancelled": "error",
    "failed": "error",
    "internal_error": "error",
    "server_error": "error",
    "insufficient_system_resource": "error",  # DeepSeek's
    "load": "error",  # Ollama's: the model was loaded, or unloaded, and generated nothing
    "unload": "error",
    "network_error": "error",  # Zhipu's, like the next one
    "sensitive": "content_filter",
    # Anthropic's, and its models' on Bedrock.
    "end_turn": "stop",
    "tool_use": "tool_calls",
    "pause_turn": "length",  # it waits for a tool of its own, and is to be continued
    "model_context_window_exceeded": "length",
    # Cohere's ChatFinishReason (MAX_TOKENS is Google's, too).
    "COMPLETE": "stop",
    "STOP_SEQUENCE": "stop",
    "TOOL_CALL": "tool_calls",
    "ERROR": "error",
    "ERROR_LIMIT": "error",
    "TIMEOUT": "error",
    "USER_CANCEL": "error",
    # Google's FinishReason. OTHER is left out: it stays unknown.
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "LANGUAGE": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    "MODEL_ARMOR": "content_filter",
    "ESCALATION": "content_filter",
    "IMAGE_SAFETY": "content_filter",
    "IMAGE_PROHIBITED_CONTENT": "content_filter",
    "IMAGE_RECITATION": "content_filter",
    "PUP_LIMITED_DISABLED": "content_filter",
    "IMAGE_OTHER": "error",
    "NO_IMAGE": "error",
    "MALFORMED_FUNCTION_CALL": "error",
    "MALFORMED_RESPONSE": "error",
    "UNEXPECTED_TOOL_CALL": "error",
    "TOO_MANY_TOOL_CALLS": "error",
    "MISSING_THOUGHT_SIGNATURE": "error",
    # Amazon's: Converse, then its older families' own.
    "content_filtered": "content_filter",
    "guardrail_intervened": "content_filter",
    "malformed_model_output": "error",
    "malformed_tool_use": "error",
    "CONTENT_FILTERED": "content_filter",
    "FINISH": "stop",
    "FINISHED": "stop",
    "STOP_CRITERIA_MET": "stop",
    "LENGTH": "length",
    "endoftext": "stop",
    "ERROR_TOXIC": "content_filter",
}

#: The same in lower case: vendors differ in case, and not in meaning.
_LOWER = {name.lower(): meaning for name, meaning in REASONS.items()}

#: Values that mean that the choice goes on; the last is Google's.
NONE = frozenset({"", "null", "FINISH_REASON_UNSPECIFIED"})

#: Longest unknown value that is passed on, in characters.
NATIVE_LIMIT = 64


class Finish(NamedTuple):
    """Why a choice ended, or None. `native` is the vendor's value if unknown or a failure."""

    reason: Ending | None = None
    native: str | None = None


GOES_ON = Finish()


def narrow(vendor: Vendor, value: Any) -> Finish:
    """Return the meaning of a vendor's finish reason; null, "" and 0: the choice goes on.

    The vendor entry's `finish_reasons` override the table. An object has its value in `type`.
    """
    if isinstance(value, dict):
        value = value.get("type")
    if not value or (isinstance(value, str) and value in NONE):
        return GOES_ON
    text = value if isinstance(value, str) else repr(value)
    known = vendor.finish_reasons.get(text) or REASONS.get(text) or _LOWER.get(text.lower())
    if known is not None and known != "error":
        return Finish(known)
    return Finish(known or "length", _printable(text[:NATIVE_LIMIT]))


def _printable(text: str) -> str:
    """Replace characters that headers, logs and metrics cannot hold."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
