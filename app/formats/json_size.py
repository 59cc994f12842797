"""Counts the values of a JSON text before it is parsed.

While a parser runs, no other greenlet does: ten megabytes of `[]` are three million lists, and half
a second. Counting is cheaper, and gives others a turn.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate

from app.runtime.turns import give_turn
from app.vocabulary.errors import InvalidJSON

#: Maximum nesting of requests and responses: the contract needs five levels, and our encoders can
#: write far more.
DEPTH_LIMIT = 64

#: Maximum counts in a request. A prompt may be a million token ids, and `logit_bias` may contain
#: every token of the largest vocabularies.
LIMITS: Mapping[str, int] = {
    "values": 2**20,
    "strings": 2**19,
    "keys": 2**18,
    "arrays and objects": 2**16,
}

#: Maximum counts in a vendor's response: brackets alone take 32 times their size when parsed.
RESPONSE_LIMITS: Mapping[str, int] = {
    "values": 2**23,
    "strings": 2**22,
    "keys": 2**22,
    "arrays and objects": 2**21,
}

#: Up to this size, a response is not counted: it takes 32 MiB at most.
UNCOUNTED_BYTES = 1024 * 1024

#: Up to this size, only the depth of a text is checked.
SMALL_BYTES = 64 * 1024

_WINDOW_BYTES = 64 * 1024
_STRING = re.compile(rb'"[^"]*"')
_STEPS = {ord("{"): 1, ord("["): 1, ord("}"): -1, ord("]"): -1}
_NO_BRACKETS = bytes(set(range(256)) - _STEPS.keys())


def check_size(
    text: bytes, name: str = "The request's body", limits: Mapping[str, int] | None = None
) -> None:
    """Check a JSON text, whose `name` begins the message of an error, against limits, or LIMITS.

    Raises: InvalidJSON, which names the exceeded limit.
    """
    size = _Size(name, LIMITS if limits is None else limits)
    for window in _windows(text):
        size.add(window)
        give_turn()


def check_response(text: bytes) -> None:
    """Check a vendor's JSON text against RESPONSE_LIMITS.

    Raises: ValueError.
    """
    if len(text) > UNCOUNTED_BYTES and any(_may_exceed(text)):
        try:
            check_size(text, "The response", RESPONSE_LIMITS)
        except InvalidJSON as exc:
            raise ValueError(str(exc)) from exc


def _may_exceed(text: bytes) -> Iterator[bool]:
    """Yield whether a text would exceed a limit, if all its marks were outside of strings."""
    for what, marks in _MARKS.items():
        yield sum(map(text.count, marks)) > RESPONSE_LIMITS[what]


#: The bytes of which there is at least one for each value of a kind, and two for a string.
_MARKS: Mapping[str, tuple[bytes, ...]] = {
    "arrays and objects": (b"[", b"{"),
    "values": (b",",),
    "keys": (b":",),
    "strings": (b'"',),
}


def too_deep(text: bytes) -> bool:
    """Whether a valid JSON text is nested deeper than DEPTH_LIMIT."""
    # The depth is at most the number of brackets: few texts need more than this count.
    if text.count(b"{") + text.count(b"[") <= DEPTH_LIMIT:
        return False
    return _depths(_STRING.sub(b"", _unescaped(text)))[0] > DEPTH_LIMIT


@dataclass
class _Size:
    """The counts of a text so far."""

    name: str
    limits: Mapping[str, int]
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(LIMITS, 0))
    depth: int = 0
    in_string: bool = False

    def add(self, window: bytes) -> None:
        """Count the values in the next window of the text."""
        plain = _unescaped(window)
        quotes = plain.count(b'"')
        self._count("strings", (quotes + (not self.in_string)) // 2)  # those that begin here
        if self.in_string:
            plain = b'"' + plain
        self.in_string ^= bool(quotes % 2)
        outside = _STRING.sub(b"", plain + b'"' if self.in_string else plain)
        self._count("arrays and objects", outside.count(b"[") + outside.count(b"{"))
        self._count("keys", outside.count(b":"))
        self._count("values", outside.count(b","))
        deepest, self.depth = _depths(outside, self.depth)
        if deepest > DEPTH_LIMIT:
            raise InvalidJSON(f"{self.name} is nested more than {DEPTH_LIMIT} levels deep.")

    def _count(self, what: str, more: int) -> None:
        self.counts[what] += more
        if self.counts[what] > self.limits[what]:
            raise InvalidJSON(f"{self.name} contains more than {self.limits[what]} {what}.")


def _windows(text: bytes) -> Iterator[bytes]:
    """Yield the text in windows that do not end inside of an escape."""
    at = 0
    while at < len(text):
        window = text[at : at + _WINDOW_BYTES]
        if (len(window) - len(window.rstrip(b"\\"))) % 2:
            window = text[at : at + len(window) + 1]
        yield window
        at += len(window)


def _unescaped(text: bytes) -> bytes:
    """Remove escapes, so that each remaining quote begins or ends a string."""
    return text.replace(b"\\\\", b"").replace(b'\\"', b"") if b"\\" in text else text


def _depths(outside: bytes, depth: int = 0) -> tuple[int, int]:
    """Return the maximum and the final depth of a text without its strings."""
    brackets = outside.translate(None, _NO_BRACKETS)
    levels = list(accumulate(map(_STEPS.__getitem__, brackets), initial=depth))
    return max(levels), levels[-1]
