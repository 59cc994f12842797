"""The deadline of one vendor call. No I/O; the caller of each method passes the time.

The time that a slow client takes to read does not count against the vendor. Bytes without a
chunk, such as keep-alive comments, do not extend any deadline.
"""

from app.vendors.vendor import Timeouts

#: How long to wait for the end mark of a response that is complete without it, in seconds.
SETTLE_S = 0.5


class Deadline:
    """The deadline of one call, in seconds on the monotonic clock.

    If `streamed`, the first chunk and each further one have deadlines besides the total.
    """

    def __init__(self, timeouts: Timeouts, now_s: float, *, streamed: bool) -> None:
        self._timeouts = timeouts
        self._streamed = streamed
        self._started_s = self._last_s = now_s
        self._has_begun = False
        self._settled_s: float | None = None

    @property
    def at_s(self) -> float:
        """The time at which the call ends, unless another packet arrives."""
        at_s = self._started_s + self._timeouts.total_s
        if self._streamed:
            at_s = min(at_s, self._last_s + self._step_s)
        return at_s if self._settled_s is None else min(at_s, self._settled_s)

    def limit(self) -> str:
        """The timeout that `at_s` comes from, with its seconds: for the error that tells of it."""
        name = "idle_s" if self._has_begun else "first_token_s"
        is_step = self._last_s + self._step_s < self._started_s + self._timeouts.total_s
        if self._streamed and is_step:
            return f"{name} = {self._step_s:g}"
        return f"total_s = {self._timeouts.total_s:g}"

    @property
    def _step_s(self) -> float:
        return self._timeouts.idle_s if self._has_begun else self._timeouts.first_token_s

    def received(self, arrived_s: float, now_s: float, *, any_chunk: bool) -> None:
        """Note a packet that arrived at `arrived_s` and was processed by `now_s`."""
        self._started_s += now_s - arrived_s
        self._last_s = now_s if any_chunk else self._last_s + now_s - arrived_s
        self._has_begun = self._has_begun or any_chunk

    def settle(self, now_s: float, *, again: bool) -> None:
        """Wait at most SETTLE_S longer: from now if `again`, otherwise from the first call."""
        if again or self._settled_s is None:
            self._settled_s = now_s + SETTLE_S

    def unsettle(self) -> None:
        """Undo `settle`: the response turned out to be incomplete."""
        self._settled_s = None
