"""The model `echo`: a request in, its choices out. No I/O."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, cycle, islice
from typing import Any, Literal

from app.sandbox.request import EchoRequest

#: The words to repeat if the prompt has none.
FILLER = ("echo",)


@dataclass(frozen=True, slots=True)
class EchoChoice:
    """One choice; its text is the joined pieces. The first `prompt_pieces` are the prompt."""

    index: int
    pieces: tuple[str, ...]
    prompt_pieces: int
    finish_reason: Literal["stop", "length"]

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(self.pieces)

    def logprobs(self, top: int | None, start: int = 0, end: int | None = None) -> Any:
        """Return OpenAI's logprobs of pieces. Each is 0, because an echo is certain.

        The first token of a prompt has none, because nothing precedes it.
        """
        if top is None:
            return None
        tokens = self.pieces[start:end]
        unknown = start == 0 and self.prompt_pieces > 0
        certain = [None if unknown and at == 0 else 0.0 for at in range(len(tokens))]
        offsets = list(accumulate(map(len, self.pieces), initial=0))
        return {
            "tokens": list(tokens),
            "token_logprobs": certain,
            "top_logprobs": [
                None if known is None else {token: 0.0}
                for token, known in zip(tokens, certain, strict=True)
            ]
            if top
            else None,
            "text_offset": offsets[start : start + len(tokens)],
        }


def answer(request: EchoRequest) -> tuple[EchoChoice, ...]:
    """Return the choices of each prompt.

    Sample k of a prompt starts with the prompt's word k, so that samples differ.
    """
    return tuple(
        _choice(request, position * request.n + sample, prompt, sample)
        for position, prompt in enumerate(request.prompts)
        for sample in range(request.n)
    )


def count_usage(request: EchoRequest, choices: Iterable[EchoChoice]) -> dict[str, int]:
    """Return OpenAI's usage object, including the candidates that `best_of` discards."""
    prompt_tokens = sum(len(prompt.split()) for prompt in request.prompts)
    kept = sum(len(choice.pieces) - choice.prompt_pieces for choice in choices)
    discarded = sum(
        len(_generate(request, prompt, sample)[0])
        for prompt in request.prompts
        for sample in range(request.n, request.best_of)
    )
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": kept + discarded,
        "total_tokens": prompt_tokens + kept + discarded,
    }


def _choice(request: EchoRequest, index: int, prompt: str, sample: int) -> EchoChoice:
    pieces, finish_reason = _generate(request, prompt, sample)
    shown = re.findall(r"\s*\S+\s*\Z|\s*\S+|\s+", prompt) if request.echo else []
    if shown and pieces and not shown[-1][-1].isspace():
        pieces = [" " + pieces[0], *pieces[1:]]
    return EchoChoice(index, (*shown, *pieces), len(shown), finish_reason)


def repeated(text: str, sample: int, length: int) -> list[str]:
    """Return so many words of a text, from its word `sample` on and over again."""
    words = islice(cycle(text.split() or FILLER), sample, sample + length)
    return [word if at == 0 else " " + word for at, word in enumerate(words)]


def cut_at(pieces: Sequence[str], stops: Sequence[str]) -> list[str]:
    """Return the pieces before the first of the stops."""
    text = "".join(pieces)
    ends = [at for stop in stops if (at := text.find(stop)) >= 0]
    return list(_cut(pieces, min(ends))) if ends else list(pieces)


def _generate(
    request: EchoRequest, prompt: str, sample: int
) -> tuple[list[str], Literal["stop", "length"]]:
    length = len(prompt.split()) if request.knobs.words is None else request.knobs.words
    allowed = length if request.max_tokens is None else min(length, request.max_tokens)
    pieces = repeated(prompt, sample, allowed)
    kept = cut_at(pieces, request.stop)
    if "".join(kept) != "".join(pieces):
        return kept, "stop"
    return kept, "length" if allowed < length or request.max_tokens == 0 else "stop"


def _cut(pieces: Sequence[str], length: int) -> Iterator[str]:
    """Yield the pieces of the first `length` characters."""
    starts = accumulate(map(len, pieces), initial=0)
    for start, piece in zip(starts, pieces, strict=False):  # one more start: the end
        if start < length:
            yield piece[: length - start]
