"""Truncates text at stop sequences that the vendor does not accept. No I/O.

The vendor still generates its whole text, and its count is charged.
"""

from collections.abc import Sequence


def as_list(stop: str | Sequence[str] | None) -> list[str]:
    """Return stop sequences as a list, as most formats require."""
    return [stop] if isinstance(stop, str) else list(stop or ())


class StopCutter:
    """Truncates a text that comes in deltas before the first complete stop sequence.

    An end that may begin a stop sequence is held back until more text comes.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = tuple(stops)
        self._held = ""
        #: Whether a stop sequence has come: nothing after it is passed on.
        self.is_cut = False

    def feed(self, delta: str) -> str:
        """Add a delta; return the text that can be passed on."""
        if not self._stops:
            return delta
        if self.is_cut:
            return ""
        text = self._held + delta
        found = [(at + len(stop), at) for stop in self._stops if (at := text.find(stop)) >= 0]
        if found:
            self.is_cut, self._held = True, ""
            _, at = min(found)
            return text[:at]
        keep = max((_overlap(text, stop) for stop in self._stops), default=0)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def flush(self) -> str:
        """Return the text that was held back, at the end."""
        held, self._held = self._held, ""
        return held


def _overlap(text: str, stop: str) -> int:
    """Return how many characters at the end of `text` begin, but do not complete, `stop`."""
    longest = min(len(text), len(stop) - 1)
    return next((n for n in range(longest, 0, -1) if text.endswith(stop[:n])), 0)
