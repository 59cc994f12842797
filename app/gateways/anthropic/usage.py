"""Anthropic's token counts."""

from typing import Any

from app.gateways.decoding.counts import put_together
from app.gateways.decoding.parsing import plain_mapping, whole
from app.vocabulary.completion import Usage

COUNTS = (
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "output_tokens",
)


def decode_usage(usage: Any) -> Usage | None:
    """Return the vendor's usage, maybe with an unknown side; None if it has no count.

    The vendor's `input_tokens` exclude those that are read from its cache or written to it. A
    count of 0 is unknown.
    """
    counts = plain_mapping(usage)
    fresh, written, cached, generated = (whole(counts.get(name)) or 0 for name in COUNTS)
    thought = whole(plain_mapping(counts.get("output_tokens_details")).get("thinking_tokens"))
    return put_together(
        "anthropic",
        (fresh + written + cached) or None,
        generated or None,
        None,
        {
            "cached_tokens": cached,
            "cache_write_tokens": written,
            "reasoning_tokens": thought or 0,
        },
    )
