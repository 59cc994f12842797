"""The vendor calls of one request that are in flight: their common deadline and cancellation.

Any thread may cancel them: when the client disconnects, the process shuts down or a sibling fails.
"""

import math
import threading
import time

from app.transport.call import Reason, VendorCall
from app.vocabulary.errors import Cancelled, GatewayError, ShuttingDown

#: How long the other calls of a request may continue when one has failed, in seconds.
SIBLINGS_S = 2.0

# One lock for all requests: each needs it only for a pause or its cancellation.
_LOCK = threading.Lock()


class InFlightCalls:
    """The calls of one request; times are in seconds on the monotonic clock.

    `deadline_s` bounds all attempts, `limit_s` the calls in flight. `choices_ended` counts the
    choices whose end a vendor has reported.
    """

    def __init__(self, deadline_s: float) -> None:
        self.deadline_s = deadline_s
        self.limit_s = math.inf
        self.choices_ended = 0
        self._calls: set[VendorCall] = set()
        self._is_cancelled = False
        self._reason: Reason = "cancelled"
        #: Ends the pauses between calls; made for the first one, which few requests have.
        self._ending: threading.Event | None = None

    @property
    def until_s(self) -> float:
        """The latest time at which another call may begin."""
        return min(self.deadline_s, self.limit_s)

    def add(self, call: VendorCall) -> None:
        """Add a call that begins."""
        self._calls.add(call)

    def discard(self, call: VendorCall) -> None:
        """Remove a call that is over."""
        self._calls.discard(call)

    def raise_if_cancelled(self) -> None:
        """Raise ShuttingDown or Cancelled after `cancel_all`: no other call may begin."""
        if self._is_cancelled:
            raise ShuttingDown if self._reason == "shutdown" else Cancelled

    def wait(self, pause_s: float) -> bool:
        """Wait for `pause_s`; return True, early, if the calls are cancelled."""
        with _LOCK:
            ending = self._ending = self._ending or threading.Event()
            if self._is_cancelled:
                ending.set()
        return ending.wait(pause_s)

    def cancel_all(self, reason: Reason) -> None:
        """Cancel every call in flight, and prevent others from beginning."""
        with _LOCK:
            if not self._is_cancelled:
                self._reason, self._is_cancelled = reason, True
            if self._ending is not None:
                self._ending.set()
        self._cut(reason)

    def begin_again(self) -> None:
        """Lift the limit that a failed sibling set: the calls of another attempt begin."""
        self.limit_s = math.inf

    def sibling_failed(self, cause: BaseException) -> None:
        """After a failure, give the other calls SIBLINGS_S to report what they cost.

        The vendor may charge for those that were sent; a status or a usage may be about to arrive.
        """
        if not isinstance(cause, GatewayError) or isinstance(cause, ShuttingDown):
            self._cut("cancelled")
            return
        self.limit_s = min(self.limit_s, time.monotonic() + SIBLINGS_S)
        for call in tuple(self._calls):
            call.deadline_s = min(call.deadline_s, self.limit_s)

    def _cut(self, reason: Reason) -> None:
        for call in tuple(self._calls):
            call.cancel(reason)
