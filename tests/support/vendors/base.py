"""What a simulated vendor wire is: the same script, spoken byte for byte in one vendor's form."""

from dataclasses import dataclass
from typing import Literal, Protocol

from tests.support.vendor import Asked, Reply

Finish = Literal["stop", "length", "content_filter"]
Kind = Literal["too_long", "bad_key", "rate_limited", "server_error"]


@dataclass(frozen=True)
class Said:
    """An answer to give: one text per sample, all ending alike.

    Counts are what the caller should be told: `prompt_tokens` includes `cached_tokens`,
    `completion_tokens` includes `reasoning_tokens`, whatever the vendor's own way of counting.
    """

    text: str = "one two three"
    finish: Finish = "stop"
    prompt_tokens: int = 11
    completion_tokens: int = 7
    cached_tokens: int = 0
    reasoning_tokens: int = 0

    def pieces(self) -> list[str]:
        """Return the text as it is streamed: word by word, spaces in front."""
        words = self.text.split(" ")
        return [words[0], *(f" {word}" for word in words[1:])] if self.text else []


class Wire(Protocol):
    """One wire format, from the vendor's side."""

    #: Bytes that keep a stream alive and say nothing; b"" where the wire has none.
    keep_alive: bytes

    def check(self, asked: Asked) -> Reply | None:
        """Return the real vendor's refusal of a request that it would refuse, or None.

        Refuse a wrong path, missing or wrong credentials headers, unknown and unsupported
        parameters, missing required ones, values out of the vendor's range.
        """
        ...

    def answer(self, asked: Asked, said: Said) -> Reply:
        """Return the answer, whole or streamed as the request wants it."""
        ...

    def refuse(self, asked: Asked, kind: Kind, retry_after: str | None = None) -> Reply:
        """Return the vendor's error response of this kind."""
        ...
