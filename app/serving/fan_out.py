"""Splits a request into sub-requests, one for each vendor call, and merges the results. No I/O.

A vendor may accept one prompt per call, or return fewer samples than the request needs. The index
of a choice is always `prompt * n + sample`.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from app.vocabulary.chat.reply import chained, merged
from app.vocabulary.completion import Choice, Completion
from app.vocabulary.errors import InvalidRequest
from app.vocabulary.request import GenerationRequest

#: Maximum number of vendor calls per request.
CALLS_LIMIT = 256


class SubRequest(NamedTuple):
    """The request of one vendor call, and the indices of its choices in the whole request.

    They are consecutive from `offset`, or are listed in `slots`.
    """

    request: GenerationRequest
    offset: int = 0
    slots: tuple[int, ...] = ()

    def slot(self, index: int) -> int:
        """Return the whole request's index of this sub-request's choice `index`."""
        return self.slots[index] if self.slots else self.offset + index

    def renumber(self, chunk: Completion) -> Completion:
        """Return the chunk with its choices numbered as in the whole request."""
        if not self.offset and not self.slots:
            return chunk
        choices = tuple(c._replace(index=self.slot(c.index)) for c in chunk.choices)
        return chunk._replace(choices=choices)

    def again(self, missing: Sequence[int]) -> list["SubRequest"]:
        """Return the sub-requests for this one's missing choices.

        The vendor returned some samples of a prompt: each sub-request asks for that many.
        """
        n = self.request.n or 1
        by_prompt: dict[int, list[int]] = {}
        for index in missing:
            by_prompt.setdefault(index // n, []).append(index)
        asked = [
            (at, indices[start : start + (n - len(indices) or 1)])
            for at, indices in by_prompt.items()
            for start in range(0, len(indices), n - len(indices) or 1)
        ]
        return [
            SubRequest(
                self.request.part(
                    at, _several(len(indices)), seed_of(self.request, indices[0] % n)
                ),
                slots=tuple(map(self.slot, indices)),
            )
            for at, indices in asked
        ]


def seed_of(request: GenerationRequest, sample: int) -> int | None:
    """Return a sample's own seed, in 64 bits: with the request's, calls would repeat the text."""
    if request.seed is None:
        return None
    return (request.seed + sample + 2**63) % 2**64 - 2**63


def split(request: GenerationRequest, *, list_prompts: bool, max_n: int) -> list[SubRequest]:
    """Split `request` into sub-requests.

    A sub-request's `n` is None if the vendor returns one sample per call.
    Raises: InvalidRequest if they are more than CALLS_LIMIT.
    """
    n = request.n or 1
    if n <= max_n and (list_prompts or request.is_single):
        return [SubRequest(request if max_n > 1 else request.with_n(None))]
    batches = [(at, min(max_n, n - at)) for at in range(0, n, max_n)]
    prompts = request.prompt_count
    _check_count(prompts * len(batches), "prompt" if prompts > 1 else "n")
    return [
        SubRequest(
            request.part(index, _several(samples), seed_of(request, at)),
            index * n + at,
        )
        for index in range(prompts)
        for at, samples in batches
    ]


def _several(samples: int) -> int | None:
    return samples if samples > 1 else None


def _check_count(calls: int, param: str) -> None:
    if calls > CALLS_LIMIT:
        raise InvalidRequest(
            f"`{param}` needs {calls} calls to this vendor; the maximum is {CALLS_LIMIT}.",
            param=param,
        )


def merge(chunks: Sequence[Completion]) -> Completion:
    """Merge chunks, at least one, into a completion with its choices in index order.

    A choice may come in several deltas. The usage is not summed: see the meter.
    """
    if len(chunks) == 1 and len(chunks[0].choices) == 1:
        return chunks[0]
    deltas: dict[int, list[Choice]] = {}
    for chunk in chunks:
        for choice in chunk.choices:
            deltas.setdefault(choice.index, []).append(choice)
    first = next((chunk for chunk in chunks if chunk.choices), chunks[0])
    choices = tuple(_joined(deltas[index]) for index in sorted(deltas))
    tier = next((chunk.service_tier for chunk in chunks if chunk.service_tier), None)
    extra = chained(chunk.extra for chunk in chunks if chunk.extra is not None)
    return first._replace(choices=choices, service_tier=tier, extra=extra)


def _joined(deltas: Sequence[Choice]) -> Choice:
    if len(deltas) == 1:
        return deltas[0]
    ended = next((delta for delta in deltas if delta.finish_reason is not None), deltas[-1])
    return ended._replace(
        text="".join(delta.text for delta in deltas),
        logprobs=chained(delta.logprobs for delta in deltas if delta.logprobs is not None),
        extra=chained(delta.extra for delta in deltas if delta.extra is not None),
        reply=merged(delta.reply for delta in deltas if delta.reply is not None),
    )


class Echo:
    """Puts the prompt before the text of a chat model, once per choice."""

    def __init__(self, prompt: str) -> None:
        self._prompt = prompt
        self._begun: set[int] = set()

    def apply(self, chunk: Completion) -> Completion:
        """Return the chunk with the prompt before each choice that begins in it."""
        return chunk._replace(choices=tuple(self._choices(chunk)))

    def _choices(self, chunk: Completion) -> Iterator[Choice]:
        for choice in chunk.choices:
            text = choice.text
            if choice.index not in self._begun:
                self._begun.add(choice.index)
                text = self._prompt + text
            logprobs = choice.logprobs
            if logprobs and isinstance(logprobs.get("text_offset"), list):
                moved = [offset + len(self._prompt) for offset in logprobs["text_offset"]]
                logprobs = {**logprobs, "text_offset": moved}
            yield choice._replace(text=text, logprobs=logprobs)
