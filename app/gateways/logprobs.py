"""Log probabilities in the form of the text-completions contract, from wires that have another."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """One sampled token, and the likeliest ones in its place; a natural logarithm or None."""

    token: str
    logprob: float | None
    top: Mapping[str, float | None] = field(default_factory=dict)


def text_logprobs(tokens: Iterable[TokenLogprob], start: int = 0) -> dict[str, Any]:
    """Return a choice's `logprobs`.

    `start` is the offset of the first token in the generated text, in characters.
    `top_logprobs` is null when no token has any.
    """
    told = list(tokens)
    offsets = []
    for token in told:
        offsets.append(start)
        start += len(token.token)
    return {
        "tokens": [token.token for token in told],
        "token_logprobs": [token.logprob for token in told],
        "top_logprobs": [dict(t.top) for t in told] if any(t.top for t in told) else None,
        "text_offset": offsets,
    }
