"""Anthropic's token counts."""

from collections.abc import Mapping
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

#: The count -> the object that it is in, and its name there.
PARTS: Mapping[str, tuple[str, str]] = {
    "cache_write_1h_tokens": ("cache_creation", "ephemeral_1h_input_tokens"),
    "reasoning_tokens": ("output_tokens_details", "thinking_tokens"),
    "web_search_calls": ("server_tool_use", "web_search_requests"),
}


def decode_usage(usage: Any) -> Usage | None:
    """Return the vendor's usage, maybe with an unknown side; None if it has no count.

    The vendor's `input_tokens` exclude those that are read from its cache or written to it. A
    count of 0 is unknown.
    """
    counts = plain_mapping(usage)
    fresh, written, cached, generated = (whole(counts.get(name)) or 0 for name in COUNTS)
    parts = {name: _at(counts, *path) for name, path in PARTS.items()}
    return put_together(
        "anthropic",
        (fresh + written + cached) or None,
        generated or None,
        None,
        {"cached_tokens": cached, "cache_write_tokens": written, **parts},
    )


def _at(counts: Mapping[str, Any], holder: str, name: str) -> int:
    return whole(plain_mapping(counts.get(holder)).get(name)) or 0
