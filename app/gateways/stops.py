"""Truncates text at stop sequences that the vendor does not accept. No I/O.

The vendor still generates its whole text, and its count is charged.
"""

from collections import deque
from collections.abc import Sequence


def as_list(stop: str | Sequence[str] | None) -> list[str]:
    """Return stop sequences as a list, as most formats require."""
    return [stop] if isinstance(stop, str) else list(stop or ())


class StopCutter:
    """Truncates a text that comes in deltas before the first complete stop sequence.

    An end that may begin a stop sequence is held back until more text comes. However long the stop
    sequences are, each character is looked at a bounded number of times.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        self._matches = tuple(map(_Match, stops))
        self._held: deque[str] = deque()
        self._held_size = 0
        #: Whether a stop sequence has come: nothing after it is passed on.
        self.is_cut = False

    def feed(self, delta: str) -> str:
        """Add a delta; return the text that can be passed on."""
        if not self._matches:
            return delta
        if self.is_cut:
            return ""
        found = [
            (end, end - match.length) for match in self._matches if (end := match.feed(delta)) > 0
        ]
        before = self._held_size
        self._held.append(delta)
        self._held_size += len(delta)
        if found:
            self.is_cut = True
            _, at = min(found)
            text = self._taken(before + at)
            self._held.clear()
            self._held_size = 0
            return text
        return self._taken(self._held_size - max(match.begun for match in self._matches))

    def flush(self) -> str:
        """Return the text that was held back, at the end."""
        for match in self._matches:
            match.begun = 0
        return self._taken(self._held_size)

    def _taken(self, size: int) -> str:
        """Remove the first `size` characters from the text that is held back; return them."""
        taken: list[str] = []
        self._held_size -= size
        while size and size >= len(self._held[0]):
            taken.append(self._held.popleft())
            size -= len(taken[-1])
        if size:
            taken.append(self._held[0][:size])
            self._held[0] = self._held[0][size:]
        return "".join(taken)


class _Match:
    """How far the end of a text has come in a stop sequence: Knuth, Morris and Pratt's search.

    begun  how many characters at the end of the text begin the stop sequence
    """

    def __init__(self, stop: str) -> None:
        self._stop, self.length, self.begun = stop, len(stop), 0
        #: For each beginning of the stop sequence, the longest one that it ends with.
        self._shorter = [0]

    def feed(self, delta: str) -> int:
        """Add a delta; return where in it the first whole stop sequence ends; 0 if none does."""
        stop, at = self._stop, 0
        while at < len(delta):
            if not self.begun:
                at = delta.find(stop[0], at)
                if at < 0:
                    return 0
            while self.begun and stop[self.begun] != delta[at]:
                self.begun = self._shorter_of(self.begun)
            self.begun += stop[self.begun] == delta[at]
            at += 1
            if self.begun == self.length:
                self.begun = 0
                return at
        return 0

    def _shorter_of(self, length: int) -> int:
        """Return the longest shorter beginning that the first `length` characters end with."""
        stop, known = self._stop, self._shorter
        while len(known) < length:  # no further than the text has come
            longest = known[-1]
            while longest and stop[longest] != stop[len(known)]:
                longest = known[longest - 1]
            known.append(longest + (stop[longest] == stop[len(known)]))
        return known[length - 1]
