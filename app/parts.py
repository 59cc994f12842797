"""A request as the calls that it takes: split, and put together again. Pure.

Where a vendor takes one prompt a call, or gives fewer samples than asked for, the rest takes more
calls; a choice's index is always `prompt * n + sample`.
"""

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from app.completion import Choice, Completion, CompletionRequest
from app.errors import InvalidRequest

#: Most vendor calls that one request may take.
CALLS_LIMIT = 256


@dataclass(frozen=True, slots=True)
class Part:
    """One call of a request: what to ask for, and the index of its first choice."""

    request: CompletionRequest
    offset: int = 0


def split(request: CompletionRequest, *, list_prompts: bool, max_n: int) -> list[Part]:
    """Return the calls that `request` takes.

    A part's `n` is absent where a vendor gives one sample at a time.
    Raises: InvalidRequest when they are more than CALLS_LIMIT.
    """
    n, prompts = request.n or 1, request.prompts
    if n <= max_n and (list_prompts or isinstance(request.prompt, str)):
        return [Part(request if max_n > 1 else dataclasses.replace(request, n=None))]
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
        Part(
            dataclasses.replace(
                request, prompt=prompt, n=samples if samples > 1 else None, best_of=best_of
            ),
            index * n + at,
        )
        for index, prompt in enumerate(prompts)
        for at, samples in pieces
    ]


def renumbered(chunk: Completion, offset: int) -> Completion:
    """Return a part's chunk with its choices numbered as the whole request's."""
    if not offset:
        return chunk
    choices = tuple(dataclasses.replace(c, index=c.index + offset) for c in chunk.choices)
    return dataclasses.replace(chunk, choices=choices)


def merged(answers: Iterable[Completion]) -> Completion:
    """Return one completion of all parts' choices, in index order; usage is the meter's affair."""
    first, *rest = answers
    if not rest:
        return first
    choices = [choice for answer in (first, *rest) for choice in answer.choices]
    return dataclasses.replace(first, choices=tuple(sorted(choices, key=lambda c: c.index)))


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
