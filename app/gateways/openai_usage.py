"""Token counts as OpenAI's wire has them, and as those who speak it almost alike do."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from app.completion import Completion, Usage
from app.gateways.answers import whole

#: Usage field -> where the wire keeps it; the first place that has something counts.
USAGE_PATHS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "prompt_tokens": (("prompt_tokens",),),
    "completion_tokens": (("completion_tokens",),),
    "total_tokens": (("total_tokens",),),
    "cached_tokens": (("prompt_tokens_details", "cached_tokens"),),
    "cache_write_tokens": (("prompt_tokens_details", "cache_write_tokens"),),
    "audio_prompt_tokens": (("prompt_tokens_details", "audio_tokens"),),
    # SGLang has it beside the others
    "reasoning_tokens": (("completion_tokens_details", "reasoning_tokens"), ("reasoning_tokens",)),
    "audio_completion_tokens": (("completion_tokens_details", "audio_tokens"),),
    "accepted_prediction_tokens": (("completion_tokens_details", "accepted_prediction_tokens"),),
    "rejected_prediction_tokens": (("completion_tokens_details", "rejected_prediction_tokens"),),
}

MAIN_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")

#: Counts of a prompt, which is read once however many samples it has.
PROMPT_COUNTS = ("prompt_tokens", "cached_tokens", "cache_write_tokens", "audio_prompt_tokens")


def decode_usage(usage: Any) -> Usage | None:
    """Return the vendor's count, or None when there is none: absent, null, nonsense, or all zeros.

    A total that the vendor gives is kept, also where it is not the sum.
    """
    if not isinstance(usage, dict):
        return None
    found = {name: _first(usage, paths) for name, paths in USAGE_PATHS.items()}
    if any(whole(found[name] or 0) is None for name in MAIN_COUNTS):
        return None  # an estimate, marked as one, is better than half a count
    counts = {name: whole(count) or 0 for name, count in found.items()}
    counts = _reasoning_inside(counts)
    if not counts["total_tokens"]:
        counts["total_tokens"] = counts["prompt_tokens"] + counts["completion_tokens"]
    return Usage(**counts) or None


def _reasoning_inside(counts: dict[str, int]) -> dict[str, int]:
    """Add the reasoning to the completion where a vendor's total says that it was left out."""
    beyond = counts["total_tokens"] - counts["prompt_tokens"] - counts["completion_tokens"]
    if beyond != counts["reasoning_tokens"]:
        return counts
    return {**counts, "completion_tokens": counts["completion_tokens"] + beyond}


def _first(usage: Mapping[str, Any], paths: tuple[tuple[str, ...], ...]) -> Any:
    for path in paths:
        value: Any = usage
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if value is not None:
            return value
    return None


class UsageByChoice:
    """Sums what a vendor counts choice by choice, each time with that choice's whole prompt.

    A count that comes without choices is the request's own, and replaces the sum.
    """

    def __init__(self, samples: int) -> None:
        self._samples = samples
        self._counted: dict[int, Usage] = {}

    def summed(self, chunk: Completion) -> Completion:
        """Return the chunk with the request's total so far in place of its choices' count."""
        if chunk.usage is None or not chunk.choices:
            return chunk
        self._counted.update((choice.index, chunk.usage) for choice in chunk.choices)
        total, prompts = Usage(), set[int]()
        for index, usage in self._counted.items():
            prompt = index // self._samples
            total += usage if prompt not in prompts else _without_prompt(usage)
            prompts.add(prompt)
        return replace(chunk, usage=total)


def _without_prompt(usage: Usage) -> Usage:
    counts = dict.fromkeys(PROMPT_COUNTS, 0)
    return replace(usage, **counts, total_tokens=usage.completion_tokens)
