"""Finish reasons: every vendor's word, narrowed to the contract's three, or to a failure.

A word that nobody has taught us says at least that the text ended: it becomes "length", which a
caller may go on from, and travels with the choice. Source: docs/vendors.md.
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
    # No tools were offered, so these only say that the model would not go on.
    "tool_calls": "stop",
    "function_call": "stop",
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
    "load": "error",  # Ollama's: the model was loaded, or taken out of memory, and said nothing
    "unload": "error",
    "network_error": "error",  # Zhipu's, as is the next one
    "sensitive": "content_filter",
    # Anthropic's, and its models' on Bedrock.
    "end_turn": "stop",
    "tool_use": "stop",
    "pause_turn": "stop",
    "model_context_window_exceeded": "length",
    # Cohere's ChatFinishReason (MAX_TOKENS is Google's word, too).
    "COMPLETE": "stop",
    "STOP_SEQUENCE": "stop",
    "TOOL_CALL": "stop",
    "ERROR": "error",
    "ERROR_LIMIT": "error",
    "TIMEOUT": "error",
    "USER_CANCEL": "error",
    # Google's FinishReason. OTHER is what it says where it has no word for it.
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

#: The same without regard to case: vendors' words differ in it, and their meanings do not.
_LOWER = {word.lower(): meaning for word, meaning in REASONS.items()}

#: What says that a choice goes on; the last is Google's.
NONE = frozenset({"", "null", "FINISH_REASON_UNSPECIFIED"})

#: Longest word that is passed on, in characters.
WORD_LIMIT = 64


class Finish(NamedTuple):
    """How a choice ended, if it did; `native` is a word for failure, or one that we do not know."""

    reason: Ending | None = None
    native: str | None = None


GOES_ON = Finish()


def narrow(vendor: Vendor, word: Any) -> Finish:
    """Return what a vendor's finish reason means; null, "" and 0 say that the choice goes on.

    The vendor's entry (`finish_reasons`) goes before the table. An object has its word in `type`.
    """
    if isinstance(word, dict):
        word = word.get("type")
    if not word or (isinstance(word, str) and word in NONE):
        return GOES_ON
    text = word if isinstance(word, str) else repr(word)
    known = vendor.finish_reasons.get(text) or REASONS.get(text) or _LOWER.get(text.lower())
    if known is not None and known != "error":
        return Finish(known)
    return Finish(known or "length", _printable(text[:WORD_LIMIT]))


def _printable(word: str) -> str:
    """Return a word that can stand in a header, a log and a metric."""
    return "".join(letter if letter.isprintable() else "?" for letter in word)
