"""What the vendor calls of one request share: who is under way, and until when they may be.

Ended from any thread: by a caller that left, by a process that leaves, by a sibling that failed.
"""

import math
import threading
import time

from app.transport.call import Reason, VendorCall
from app.vocabulary.errors import Cancelled, GatewayError, ShuttingDown

#: How long the other calls of a request may go on when one has failed, in seconds.
SIBLINGS_S = 2.0


class UnderWay:
    """The calls of one request; times are in seconds on the monotonic clock.

    `deadline_s` bounds all attempts. `choices_ended` counts the choices of which a vendor has said
    that they have ended.
    """

    def __init__(self, deadline_s: float) -> None:
        self.deadline_s = deadline_s
        self.limit_s = math.inf
        self.choices_ended = 0
        self._calls: set[VendorCall] = set()
        self._ended = threading.Event()
        self._reason: Reason = "cancelled"

    @property
    def until_s(self) -> float:
        """Until when another call may begin."""
        return min(self.deadline_s, self.limit_s)

    def add(self, call: VendorCall) -> None:
        """Have a call ended with the others."""
        self._calls.add(call)

    def discard(self, call: VendorCall) -> None:
        """Forget a call that is over."""
        self._calls.discard(call)

    def raise_if_ended(self) -> None:
        """Begin no other call once they have been ended.

        Raises: ShuttingDown, Cancelled.
        """
        if self._ended.is_set():
            raise ShuttingDown if self._reason == "shutdown" else Cancelled

    def wait(self, pause_s: float) -> bool:
        """Wait; return whether the calls have been ended meanwhile."""
        return self._ended.wait(pause_s)

    def end(self, reason: Reason) -> None:
        """Cut every call that is under way, and begin no other."""
        if not self._ended.is_set():
            self._reason = reason
            self._ended.set()
        self._cut(reason)

    def begin_again(self) -> None:
        """Let the calls of another attempt go on as long as they may."""
        self.limit_s = math.inf

    def one_failed(self, cause: BaseException) -> None:
        """Give the other calls a moment, when one has failed, to say what they cost.

        Those that were sent may be paid for: a status or an answer that is on its way tells.
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
