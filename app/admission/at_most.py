"""The most that a request may use and cost, before a vendor is called. No I/O.

A budget reserves the cost at the most expensive vendor entry that may serve the request.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from app.pricing.price import Price
from app.pricing.price_book import PriceBook
from app.vocabulary.completion import Usage
from app.vocabulary.request import GenerationRequest, Input

#: Completion tokens reserved for a choice if the caller sets no bound. A vendor's own bound may be
#: higher; what the choice uses beyond this is charged afterwards.
UNBOUND_TOKENS = 1024

#: Bytes of text per token, roughly: scripts that take more tokens also take more bytes in UTF-8.
BYTES_PER_TOKEN = 4

#: What a completion, and the media of a prompt may be: kind -> its count in a usage. Before a call,
#: it is unknown whether the model answers with text, sound or images, and what each medium is.
_GENERATED: Mapping[str, str] = {
    "output": "completion_tokens",
    "reasoning": "reasoning_tokens",
    "output_audio": "audio_completion_tokens",
    "output_image": "image_completion_tokens",
}
_MEDIA: Mapping[str, str] = {
    "input_image": "image_prompt_tokens",
    "input_audio": "audio_prompt_tokens",
}


class CostCandidate(NamedTuple):
    """A vendor entry that may serve a request, and its name of the model.

    `list_prompts`: one call takes several prompts. `max_n`: samples that one call returns for each.
    """

    vendor: str
    model: str
    list_prompts: bool = True
    max_n: int = 128


def usage_at_most(request: GenerationRequest) -> Usage:
    """Return the most that a request may use, roughly: its prompts once, all choices in full."""
    inputs = request.inputs
    return _usage(inputs, _per_choice(request) * len(inputs) * request.samples_generated)


def cost_at_most(
    request: GenerationRequest, candidates: Sequence[CostCandidate], prices: PriceBook
) -> int:
    """Return the nano-dollars that a request may cost at the most expensive of `candidates`.

    A model that has a price of its own for images or sounds may answer with nothing else.
    If a price is unknown, what `prices` reserves for unknown prices.
    """
    tiers = {None, request.service_tier}
    each = (
        sum(times * _cost(prices, it, usage, tier) for usage, times in _calls(request, it))
        for it in candidates
        for tier in tiers
    )
    return max(each, default=0)


def _cost(prices: PriceBook, it: CostCandidate, usage: Usage, tier: str | None) -> int:
    price = prices.price(it.vendor, it.model, tier=tier)
    possible = prices.unknown(it.vendor) if price is None else (price,)
    return max((it.cost_nanousd(_dearest(it, usage)) or 0 for it in possible), default=0)


def _dearest(price: Price, usage: Usage) -> Usage:
    """Return a usage whose media, which count as images, and completion cost the most."""
    rate, counts = price.highest.__getitem__, dict[str, int]()
    generated, medium = max(_GENERATED, key=rate), max(_MEDIA, key=rate)
    if generated != "output":
        counts[_GENERATED[generated]] = usage.completion_tokens
    if medium != "input_image" and usage.image_prompt_tokens:
        counts |= {"image_prompt_tokens": 0, _MEDIA[medium]: usage.image_prompt_tokens}
    return replace(usage, **counts) if counts else usage


def _calls(request: GenerationRequest, it: CostCandidate) -> Iterator[tuple[Usage, int]]:
    """Yield the most that a call may use, and the number of such calls."""
    samples, per_choice = request.samples_generated, _per_choice(request)
    times = math.ceil((request.n or 1) / it.max_n)
    prompts = request.inputs
    if it.list_prompts and times == 1:
        yield _usage(prompts, per_choice * samples * len(prompts)), 1
        return
    for prompt in prompts:
        yield _usage((prompt,), per_choice * math.ceil(samples / times)), times


def _per_choice(request: GenerationRequest) -> int:
    return UNBOUND_TOKENS if request.max_tokens is None else request.max_tokens


def _usage(prompts: Sequence[Input], completion_tokens: int) -> Usage:
    """Return the usage of a call, whose media all count as images."""
    prompt_tokens = sum(map(_prompt_tokens, prompts))
    return Usage(
        prompt_tokens=prompt_tokens,
        image_prompt_tokens=sum(prompt.media_tokens for prompt in prompts),
        completion_tokens=completion_tokens,
        total_tokens=prompt_tokens + completion_tokens,
    )


def _prompt_tokens(prompt: Input) -> int:
    size = sum(map(_size, prompt.texts))
    return math.ceil(size / BYTES_PER_TOKEN) + len(prompt.token_ids) + prompt.media_tokens


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
