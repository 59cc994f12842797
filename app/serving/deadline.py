"""Until when a vendor may keep one call waiting. Pure, but for the clock that it is told.

Time in which nobody waits for the vendor does not count: a caller that reads slowly spends its
own. Bytes that carry no answer do not extend any deadline.
"""

from app.vendors.vendor import Timeouts

#: How long a whole answer may stay silent without its end, in seconds.
SETTLE_S = 0.5


class Deadline:
    """The deadline of one call, in seconds on the monotonic clock.

    `streamed`: its chunks have deadlines of their own, and not the whole alone.
    """

    def __init__(self, timeouts: Timeouts, now_s: float, *, streamed: bool) -> None:
        self._timeouts = timeouts
        self._streamed = streamed
        self._started_s = self._last_s = now_s
        self._has_begun = False
        self._settled_s: float | None = None

    @property
    def at_s(self) -> float:
        """When the call is to end, if nothing comes before."""
        at_s = self._started_s + self._timeouts.total_s
        if self._streamed:
            step_s = self._timeouts.idle_s if self._has_begun else self._timeouts.first_token_s
            at_s = min(at_s, self._last_s + step_s)
        return at_s if self._settled_s is None else min(at_s, self._settled_s)

    def received(self, arrived_s: float, now_s: float, *, any_chunk: bool) -> None:
        """Take note of a packet that arrived, and was dealt with by `now_s`."""
        self._started_s += now_s - arrived_s
        self._last_s = now_s if any_chunk else self._last_s + now_s - arrived_s
        self._has_begun = self._has_begun or any_chunk

    def settle(self, now_s: float, *, again: bool) -> None:
        """Wait for no more than SETTLE_S from now, or from the first time, unless `again`."""
        if again or self._settled_s is None:
            self._settled_s = now_s + SETTLE_S

    def unsettle(self) -> None:
        """Wait as long as before: the answer was not whole after all."""
        self._settled_s = None
