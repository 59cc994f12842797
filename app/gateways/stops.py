"""Stop sequences that a vendor will not take: the text is cut here instead. Pure.

The vendor goes on to the end of its answer, and its count of that stands.
"""

from collections.abc import Sequence


def as_list(stop: str | Sequence[str] | None) -> list[str]:
    """Return stop sequences as most wires have them: always a list."""
    return [stop] if isinstance(stop, str) else list(stop or ())


class StopCutter:
    """Cuts a text that comes in pieces before the stop sequence that is complete first.

    An end that may be the beginning of a stop sequence is held back until more is known.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = tuple(stops)
        self._held = ""
        #: Whether a stop sequence has come: nothing is passed on after it.
        self.is_cut = False

    def feed(self, piece: str) -> str:
        """Return what may be passed on, now that `piece` has come."""
        if self.is_cut:
            return ""
        text = self._held + piece
        found = [(at + len(stop), at) for stop in self._stops if (at := text.find(stop)) >= 0]
        if found:
            self.is_cut, self._held = True, ""
            _, at = min(found)
            return text[:at]
        keep = max((_overlap(text, stop) for stop in self._stops), default=0)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def flush(self) -> str:
        """Return what was held back, now that the text has ended."""
        held, self._held = self._held, ""
        return held


def _overlap(text: str, stop: str) -> int:
    """Return how many characters at the end of `text` begin `stop`, short of all of it."""
    longest = min(len(text), len(stop) - 1)
    return next((n for n in range(longest, 0, -1) if text.endswith(stop[:n])), 0)
