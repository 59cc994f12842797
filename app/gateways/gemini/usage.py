"""Google's token counts: modalities, thoughts, and what its own tools fed to the model."""

from collections.abc import Mapping
from typing import Any

from app.gateways.decoding.counts import put_together
from app.gateways.decoding.parsing import plain_mapping, whole
from app.vocabulary.completion import Usage

#: A list of counts by modality -> the modality -> the count that has its sum.
MODALITIES: Mapping[str, Mapping[str, str]] = {
    "promptTokensDetails": {"AUDIO": "audio_prompt_tokens", "IMAGE": "image_prompt_tokens"},
    "toolUsePromptTokensDetails": {"AUDIO": "audio_prompt_tokens", "IMAGE": "image_prompt_tokens"},
    "candidatesTokensDetails": {
        "AUDIO": "audio_completion_tokens",
        "IMAGE": "image_completion_tokens",
    },
}

#: Google's `trafficType` -> the contract's `service_tier`.
TIERS: Mapping[str, str] = {
    "ON_DEMAND": "default",
    "ON_DEMAND_FLEX": "flex",
    "ON_DEMAND_PRIORITY": "priority",
    "PROVISIONED_THROUGHPUT": "scale",
}

COUNTS = ("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "totalTokenCount")


def decode_usage(usage: Any) -> Usage | None:
    """Return the vendor's usage, maybe with an unknown side; None if it has no count.

    The candidates' tokens exclude reasoning, but some responses include it; the total shows which.
    The prompt's tokens include the cached ones, but not those of the results of Google's tools.
    """
    counts = plain_mapping(usage)
    sent, candidates, thoughts, total = (whole(counts.get(name)) for name in COUNTS)
    prompt = None if sent is None else sent + (whole(counts.get("toolUsePromptTokenCount")) or 0)
    parts = _by_modality(counts)
    if cached := whole(counts.get("cachedContentTokenCount")):
        parts["cached_tokens"] = cached
    if thoughts:
        parts["reasoning_tokens"] = thoughts
    generated = _generated(prompt, candidates, thoughts, total)
    return put_together("gemini", prompt, generated, None if prompt is not None else total, parts)


def decode_tier(usage: Any) -> str | None:
    """Return the tier that served the request, in the contract's word; None if unknown."""
    traffic = plain_mapping(usage).get("trafficType")
    return TIERS.get(traffic) if isinstance(traffic, str) else None


def _by_modality(counts: Mapping[str, Any]) -> dict[str, int]:
    found: dict[str, int] = {}
    for field, names in MODALITIES.items():
        details = counts.get(field)
        for entry in details if isinstance(details, list) else ():
            modality = entry.get("modality") if isinstance(entry, dict) else None
            if modality == "TEXT" or not isinstance(modality, str) or modality not in names:
                continue
            if count := whole(entry.get("tokenCount")):
                found[names[modality]] = found.get(names[modality], 0) + count
    return found


def _generated(
    prompt: int | None, candidates: int | None, thoughts: int | None, total: int | None
) -> int | None:
    """Return the generated tokens: the rest of the total, or the sum of their counts."""
    counted = None if candidates is None and thoughts is None else (candidates or 0, thoughts or 0)
    if total is not None and prompt is not None and total - prompt >= max(counted or (0,)):
        return total - prompt
    return None if counted is None else sum(counted)
