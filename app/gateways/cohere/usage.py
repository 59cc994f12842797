"""Cohere's token counts.

A response has two: `billed_units`, and `tokens`, those that the model processed. The second are
more: they include Cohere's own instructions and special tokens, which a caller neither sends nor
pays.
The usage is what is billed, for prices, limits and budgets, and callers get the same numbers.
OpenTelemetry's conventions ask for the billed count, too.
Source: docs.cohere.com, "How does Cohere's pricing work?".
"""

from typing import Any

from app.gateways.decoding.counts import put_together
from app.gateways.decoding.parsing import plain_mapping, whole
from app.vocabulary.completion import Usage


def decode_usage(usage: Any) -> Usage | None:
    """Return the billed tokens, otherwise those that the model processed; None if neither came.

    The model also processes the vendor's own instructions, which may be cached: cached tokens count
    up to the billed ones.
    """
    reported = plain_mapping(usage)
    parts = {"cached_tokens": whole(reported.get("cached_tokens")) or 0}
    billed, processed = _pair(reported.get("billed_units")), _pair(reported.get("tokens"))
    if not any(billed):
        billed = processed
    prompt, generated = (
        side if side is not None else other for side, other in zip(billed, processed, strict=True)
    )
    if not (prompt or generated):
        return None
    return put_together("cohere", prompt, generated, None, parts)


def _pair(counts: Any) -> tuple[int | None, int | None]:
    """Return input and output tokens, each None if it is missing or invalid."""
    pair = plain_mapping(counts)
    return whole(pair.get("input_tokens")), whole(pair.get("output_tokens"))
