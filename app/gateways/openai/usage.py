"""Token counts in OpenAI's format, and in those of vendors that are nearly compatible."""

from collections.abc import Mapping
from typing import Any

from app.gateways.decoding.counts import first_count, put_together
from app.gateways.decoding.parsing import plain_mapping, whole
from app.vocabulary.completion import Usage

Paths = tuple[tuple[str, ...], ...]

#: Paths of the counts in a usage object; the first valid count is used.
PROMPT: Paths = (("prompt_tokens",), ("input_tokens",), ("prompt_eval_count",))
COMPLETION: Paths = (
    ("completion_tokens",),
    ("output_tokens",),
    ("generated_tokens",),
    ("eval_count",),
)
TOTAL: Paths = (("total_tokens",),)

#: Counts that these include. SGLang puts reasoning, and DeepSeek, Mistral, Moonshot and others put
#: cached tokens, beside them.
PARTS: Mapping[str, Paths] = {
    "cached_tokens": (
        ("prompt_tokens_details", "cached_tokens"),
        ("input_tokens_details", "cached_tokens"),
        ("cached_tokens",),
        ("num_cached_tokens",),
        ("prompt_cache_hit_tokens",),
        ("cache_read_input_tokens",),
    ),
    "cache_write_tokens": (
        ("prompt_tokens_details", "cache_write_tokens"),
        ("cache_creation_input_tokens",),
    ),
    "audio_prompt_tokens": (("prompt_tokens_details", "audio_tokens"),),
    "image_prompt_tokens": (
        ("prompt_tokens_details", "image_tokens"),
        ("prompt_image_tokens",),
    ),
    "web_search_calls": (
        ("server_tool_use", "web_search_requests"),
        ("server_tool_use_details", "web_search_requests"),
    ),
    "reasoning_tokens": (
        ("completion_tokens_details", "reasoning_tokens"),
        ("output_tokens_details", "reasoning_tokens"),
        ("reasoning_tokens",),
    ),
    "audio_completion_tokens": (("completion_tokens_details", "audio_tokens"),),
    "image_completion_tokens": (("completion_tokens_details", "image_tokens"),),
    "accepted_prediction_tokens": (("completion_tokens_details", "accepted_prediction_tokens"),),
    "rejected_prediction_tokens": (("completion_tokens_details", "rejected_prediction_tokens"),),
}


#: Mistral's length of a prompt's sounds, whose tokens older models count in the total alone.
SECONDS = "prompt_audio_seconds"

#: The fields of most usage objects.
PLAIN = frozenset({"prompt_tokens", "completion_tokens", "total_tokens"})


def decode_usage(vendor: str, usage: Any) -> Usage | None:
    """Decode a usage object, maybe with an unknown side; None if it has no count."""
    if not isinstance(usage, dict):
        return None
    get = usage.get
    prompt, completion, total = get("prompt_tokens"), get("completion_tokens"), get("total_tokens")
    if type(prompt) is type(completion) is type(total) is int and PLAIN.issuperset(usage):
        return put_together(vendor, whole(prompt), whole(completion), whole(total))
    parts = {name: found for name, paths in PARTS.items() if (found := _part(usage, paths))}
    prompt, completion = first_count(usage, PROMPT), first_count(usage, COMPLETION)
    total = first_count(usage, TOTAL)
    if get(SECONDS) and prompt and completion and total:
        parts.setdefault("audio_prompt_tokens", max(0, total - prompt - completion))
    return put_together(vendor, prompt, completion, total, parts)


def _part(usage: Mapping[str, Any], paths: Paths) -> int | None:
    """Return the first count above 0: servers with two names for one fill the other with 0."""
    return next(filter(None, (first_count(usage, (path,)) for path in paths)), None)


def usage_in(vendor: str, body: Mapping[str, Any]) -> Usage | None:
    """Return the usage in a response or a chunk; None if there is none.

    Places: `usage`; `x_groq.usage`; the counts beside the choices, without a usage object.
    """
    usage = body.get("usage")
    if not usage and "x_groq" in body:
        usage = plain_mapping(body["x_groq"]).get("usage")
    if usage:
        return decode_usage(vendor, usage)
    return None if PLAIN.isdisjoint(body) else decode_usage(vendor, body)
