"""Finish reasons: every vendor's word, narrowed to the contract's three.

A word that means failure, or that we do not know, is no success: it never becomes "stop".
Source: docs/vendors.md.
"""

from collections.abc import Mapping
from typing import Any

from app.completion import FinishReason
from app.errors import VendorFailed
from app.gateways.base import Vendor

REASONS: Mapping[str, FinishReason] = {
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
    # Anthropic's, and its models' on Bedrock.
    "end_turn": "stop",
    "tool_use": "stop",
    "pause_turn": "stop",
    "model_context_window_exceeded": "length",
    # Cohere's ChatFinishReason (MAX_TOKENS is Google's word, too). ERROR and TIMEOUT are failures.
    "COMPLETE": "stop",
    "STOP_SEQUENCE": "stop",
    "TOOL_CALL": "stop",
    # Google's FinishReason. OTHER, MALFORMED_*, UNEXPECTED_TOOL_CALL and their like are failures.
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
    # Amazon's: Converse, then its older families' own. malformed_* are failures.
    "content_filtered": "content_filter",
    "guardrail_intervened": "content_filter",
    "CONTENT_FILTERED": "content_filter",
    "FINISH": "stop",
    "FINISHED": "stop",
    "STOP_CRITERIA_MET": "stop",
    "LENGTH": "length",
    "endoftext": "stop",
    "ERROR_TOXIC": "content_filter",
}


def narrow(vendor: Vendor, reason: Any) -> FinishReason | None:
    """Return the contract's finish reason; None and "" mean that the choice goes on.

    Raises: VendorFailed for a reason that is no success.
    """
    if reason is None or reason == "":
        return None
    narrowed = REASONS.get(reason) if isinstance(reason, str) else None
    if narrowed is None:
        named = repr(reason[:64]) if isinstance(reason, str) else "no word at all"
        raise VendorFailed(
            f"The vendor `{vendor.name}` ended the answer with the reason {named}.", billable=True
        )
    return narrowed
