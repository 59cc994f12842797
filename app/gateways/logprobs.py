"""Log probabilities in the form of the text-completions contract, from wires that have another."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """One sampled token, and the likeliest ones in its place; a natural logarithm or None.

    `raw` is its UTF-8, where the wire tells it: a token may be a piece of a character, and its
    text is then an escape.
    """

    token: str
    logprob: float | None
    top: Mapping[str, float | None] = field(default_factory=dict)
    raw: bytes | None = None

    @property
    def length(self) -> int:
        """How many characters begin in this token."""
        if self.raw is None:
            return len(self.token)
        return sum(byte & 0xC0 != 0x80 for byte in self.raw)

    @property
    def goes_on(self) -> bool:
        """Whether it begins inside a character."""
        return self.raw is not None and self.raw[:1] != b"" and self.raw[0] & 0xC0 == 0x80


def text_logprobs(tokens: Iterable[TokenLogprob], start: int = 0) -> dict[str, Any]:
    """Return a choice's `logprobs`.

    `start` is the offset of the first token in the generated text, in characters.
    `top_logprobs` is null when no token has any.
    """
    told = list(tokens)
    offsets = []
    for token in told:
        offsets.append(max(0, start - token.goes_on))
        start += token.length
    return {
        "tokens": [token.token for token in told],
        "token_logprobs": [token.logprob for token in told],
        "top_logprobs": [dict(t.top) for t in told] if any(t.top for t in told) else None,
        "text_offset": offsets,
    }
