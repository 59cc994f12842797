"""Cohere's token counts."""

from typing import Any

from app.gateways.decoding.counts import put_together
from app.gateways.decoding.parsing import plain_mapping, whole
from app.vocabulary.completion import Usage


def decode_usage(usage: Any) -> Usage | None:
    """Return the billed tokens, otherwise those that the model processed; None if neither came.

    The model also processes the vendor's own instructions, which are not billed and may be cached:
    cached tokens count up to the billed ones.
    """
    reported = plain_mapping(usage)
    parts = {"cached_tokens": whole(reported.get("cached_tokens")) or 0}
    counts = _pair(reported.get("billed_units")) or _pair(reported.get("tokens"))
    return counts and put_together("cohere", *counts, None, parts)


def _pair(counts: Any) -> tuple[int | None, int | None] | None:
    """Return input and output tokens, each None if invalid; None if both are missing or 0."""
    pair = plain_mapping(counts)
    prompt, generated = (whole(pair.get(n)) for n in ("input_tokens", "output_tokens"))
    return (prompt, generated) if prompt or generated else None
