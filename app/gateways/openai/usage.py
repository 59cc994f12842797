"""Token counts as OpenAI's wire has them, and as those who speak it almost alike do."""

from collections.abc import Mapping
from typing import Any

from app.gateways.base import plain_mapping
from app.gateways.decoding.counts import first_count, put_together
from app.gateways.decoding.parsing import whole
from app.vocabulary.completion import Usage

Paths = tuple[tuple[str, ...], ...]

#: Where a usage object keeps its counts; the first place that has a count of tokens is taken.
PROMPT: Paths = (("prompt_tokens",), ("input_tokens",), ("prompt_eval_count",))
COMPLETION: Paths = (
    ("completion_tokens",),
    ("output_tokens",),
    ("generated_tokens",),
    ("eval_count",),
)
TOTAL: Paths = (("total_tokens",),)

#: Parts of these. SGLang has reasoning beside the others, DeepSeek, Moonshot and more the cache.
PARTS: Mapping[str, Paths] = {
    "cached_tokens": (
        ("prompt_tokens_details", "cached_tokens"),
        ("input_tokens_details", "cached_tokens"),
        ("cached_tokens",),
        ("prompt_cache_hit_tokens",),
        ("cache_read_input_tokens",),
    ),
    "cache_write_tokens": (
        ("prompt_tokens_details", "cache_write_tokens"),
        ("cache_creation_input_tokens",),
    ),
    "audio_prompt_tokens": (("prompt_tokens_details", "audio_tokens"),),
    "reasoning_tokens": (
        ("completion_tokens_details", "reasoning_tokens"),
        ("output_tokens_details", "reasoning_tokens"),
        ("reasoning_tokens",),
    ),
    "audio_completion_tokens": (("completion_tokens_details", "audio_tokens"),),
    "accepted_prediction_tokens": (("completion_tokens_details", "accepted_prediction_tokens"),),
    "rejected_prediction_tokens": (("completion_tokens_details", "rejected_prediction_tokens"),),
}


#: The fields of a usage that is plain, as most are.
PLAIN = frozenset({"prompt_tokens", "completion_tokens", "total_tokens"})


def decode_usage(vendor: str, usage: Any) -> Usage | None:
    """Return a usage object's count, halves too; None where it counts nothing."""
    if not isinstance(usage, dict):
        return None
    get = usage.get
    prompt, completion, total = get("prompt_tokens"), get("completion_tokens"), get("total_tokens")
    if type(prompt) is type(completion) is type(total) is int and PLAIN.issuperset(usage):
        return put_together(vendor, whole(prompt), whole(completion), whole(total))
    parts = {name: found for name, paths in PARTS.items() if (found := first_count(usage, paths))}
    return put_together(
        vendor,
        first_count(usage, PROMPT),
        first_count(usage, COMPLETION),
        first_count(usage, TOTAL),
        parts,
    )


def usage_in(vendor: str, body: Mapping[str, Any]) -> Usage | None:
    """Return the usage that an answer or a chunk holds, wherever it keeps it.

    Places: `usage`; `x_groq.usage`; beside the choices, with no object around it.
    """
    told = body.get("usage")
    if not told and "x_groq" in body:
        told = plain_mapping(body["x_groq"]).get("usage")
    if told:
        return decode_usage(vendor, told)
    return None if PLAIN.isdisjoint(body) else decode_usage(vendor, body)
