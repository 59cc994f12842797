"""A request as the calls that it takes: split, and put together again. Pure.

Where a vendor takes one prompt a call, or gives fewer samples than asked for, the rest takes more
calls; a choice's index is always `prompt * n + sample`.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.vocabulary.completion import Choice, Completion, CompletionRequest
from app.vocabulary.errors import InvalidRequest

#: Most vendor calls that one request may take.
CALLS_LIMIT = 256


@dataclass(frozen=True, slots=True)
class SubRequest:
    """One call of a request: what to ask for, and where its choices are among the request's.

    They follow each other from `offset`, or are where `slots` says.
    """

    request: CompletionRequest
    offset: int = 0
    slots: tuple[int, ...] = ()

    def slot(self, index: int) -> int:
        """Return the request's index of the part's choice `index`."""
        return self.slots[index] if self.slots else self.offset + index

    def renumber(self, chunk: Completion) -> Completion:
        """Return a chunk with its choices numbered as the whole request's."""
        if not self.offset and not self.slots:
            return chunk
        choices = tuple(dataclasses.replace(c, index=self.slot(c.index)) for c in chunk.choices)
        return dataclasses.replace(chunk, choices=choices)

    def again(self, missing: Sequence[int]) -> list["SubRequest"]:
        """Return the calls that ask for the part's choices of these indices once more.

        Each asks for as many samples of a prompt as have come of it, since the vendor gives so
        many at a time.
        """
        prompts, n = self.request.prompts, self.request.n or 1
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
                dataclasses.replace(
                    self.request,
                    prompt=prompts[at],
                    n=len(indices) if len(indices) > 1 else None,
                    seed=seed_of(self.request, indices[0] % n),
                ),
                slots=tuple(map(self.slot, indices)),
            )
            for at, indices in asked
        ]


def seed_of(request: CompletionRequest, sample: int) -> int | None:
    """Return the seed of a sample that has a call of its own: the same one gives the same text.

    It stays within 64 bits.
    """
    if request.seed is None:
        return None
    return (request.seed + sample + 2**63) % 2**64 - 2**63


def split(request: CompletionRequest, *, list_prompts: bool, max_n: int) -> list[SubRequest]:
    """Return the calls that `request` takes.

    A part's `n` is absent where a vendor gives one sample at a time.
    Raises: InvalidRequest when they are more than CALLS_LIMIT.
    """
    n, prompts = request.n or 1, request.prompts
    if n <= max_n and (list_prompts or isinstance(request.prompt, str)):
        return [SubRequest(request if max_n > 1 else dataclasses.replace(request, n=None))]
    # The best n of n are all of them, however many calls they take.
    best_of = None if request.best_of == n else request.best_of
    pieces = [(at, min(max_n, n - at)) for at in range(0, n, max_n)]
    if len(prompts) * len(pieces) > CALLS_LIMIT:
        name = "prompt" if len(prompts) > 1 else "n"
        raise InvalidRequest(
            f"`{name}` asks for {len(prompts) * len(pieces)} calls of this vendor; "
            f"a request may take {CALLS_LIMIT}.",
            param=name,
        )
    return [
        SubRequest(
            dataclasses.replace(
                request,
                prompt=prompt,
                n=samples if samples > 1 else None,
                best_of=best_of,
                seed=seed_of(request, at),
            ),
            index * n + at,
        )
        for index, prompt in enumerate(prompts)
        for at, samples in pieces
    ]


def merge(answers: Iterable[Completion]) -> Completion:
    """Return one completion of all chunks, its choices in index order; a choice may be in pieces.

    Usage is the meter's affair.
    """
    chunks = list(answers)
    if len(chunks) == 1 and len(chunks[0].choices) == 1:
        return chunks[0]
    pieces: dict[int, list[Choice]] = {}
    for chunk in chunks:
        for choice in chunk.choices:
            pieces.setdefault(choice.index, []).append(choice)
    named = next((chunk for chunk in chunks if chunk.choices), chunks[0])
    choices = tuple(_joined(pieces[index]) for index in sorted(pieces))
    tier = next((chunk.service_tier for chunk in chunks if chunk.service_tier), None)
    return dataclasses.replace(named, choices=choices, service_tier=tier)


def _joined(pieces: Sequence[Choice]) -> Choice:
    """Return the choice that these are pieces of."""
    if len(pieces) == 1:
        return pieces[0]
    ended = next((piece for piece in pieces if piece.finish_reason is not None), pieces[-1])
    return dataclasses.replace(
        ended,
        text="".join(piece.text for piece in pieces),
        logprobs=_chained([piece.logprobs for piece in pieces if piece.logprobs is not None]),
        extra=_chained([piece.extra for piece in pieces if piece.extra is not None]),
    )


def _chained(pieces: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Return objects as one: lists follow each other, and of anything else the last stands."""
    whole: dict[str, Any] = {}
    for piece in pieces:
        for name, value in piece.items():
            before = whole.get(name)
            if isinstance(before, list) and isinstance(value, list):
                value = [*before, *value]  # noqa: PLW2901 - longer by what came before
            whole[name] = value
    return whole or None


class Echo:
    """Puts a prompt in front of what a chat model says, once for each choice."""

    def __init__(self, prompt: str) -> None:
        self._prompt = prompt
        self._begun: set[int] = set()

    def apply(self, chunk: Completion) -> Completion:
        """Return the chunk, with the prompt before each choice that begins in it."""
        return dataclasses.replace(chunk, choices=tuple(self._choices(chunk)))

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
            yield dataclasses.replace(choice, text=text, logprobs=logprobs)
