"""Log probabilities in the format of the text-completions contract, from those of other formats."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from app.gateways.decoding.choices.texts import sanitized
from app.gateways.decoding.parsing import number


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """One sampled token, and the likeliest alternatives; natural logarithms, or None.

    `raw` is its UTF-8, if the vendor sends it: a token may be a part of a character, and its text
    is then an escape.
    """

    token: str
    logprob: float | None
    top: Mapping[str, float | None] = field(default_factory=dict)
    raw: bytes | None = None

    @property
    def length(self) -> int:
        """The number of characters that begin in this token."""
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
    `top_logprobs` is null if no token has alternatives.
    """
    listed = list(tokens)
    offsets = []
    for token in listed:
        offsets.append(max(0, start - token.goes_on))
        start += token.length
    return {
        "tokens": [token.token for token in listed],
        "token_logprobs": [token.logprob for token in listed],
        "top_logprobs": [dict(t.top) for t in listed] if any(t.top for t in listed) else None,
        "text_offset": offsets,
    }


class LogprobsReader:
    """Converts the log probabilities of one response, and keeps each choice's offset."""

    def __init__(self) -> None:
        self._characters: dict[int, int] = {}

    def read(self, index: int, tokens: Iterable[TokenLogprob]) -> dict[str, Any]:
        """Return the `logprobs` of the next delta of choice `index`."""
        listed = list(tokens)
        start = self._characters.get(index, 0)
        self._characters[index] = start + sum(token.length for token in listed)
        return text_logprobs(listed, start)


def chat_tokens(entries: Iterable[Any]) -> Iterable[TokenLogprob]:
    """Yield the tokens of chat's `logprobs.content`."""
    for entry in entries:
        if not isinstance(entry, dict):
            continue
        others = entry.get("top_logprobs")
        top = [o for o in others if isinstance(o, dict)] if isinstance(others, list) else []
        token, logprob = _named(entry)
        alternatives = dict(map(_named, top))
        if alternatives:  # by the contract, they always include the sampled token
            alternatives.setdefault(token, logprob)
        yield TokenLogprob(token, logprob, alternatives, _bytes(entry.get("bytes")))


def _named(entry: Mapping[str, Any]) -> tuple[str, float | None]:
    token = entry.get("token")
    return sanitized(token) if isinstance(token, str) else "", number(entry.get("logprob"))


def _bytes(values: Any) -> bytes | None:
    if isinstance(values, list) and all(type(v) is int and 0 <= v < 256 for v in values):
        return bytes(values)
    return None
