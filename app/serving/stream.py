"""One streamed answer: the vendor's chunks as they arrive, on their way to the caller.

Owns what becomes of a stream whose caller leaves, stays silent or does not read.
"""

import contextlib
import dataclasses
import math
import threading
import time
from collections.abc import Callable, Mapping

from app.serving.channel import Channel, ConsumerClosed
from app.serving.failover import Calls
from app.transport.watchdog import Watchdog
from app.usage.event import Status
from app.usage.meter import Meter
from app.vocabulary.completion import Completion, CompletionRequest
from app.vocabulary.errors import Cancelled, GatewayError

#: Chunks that may wait for a slow caller; then its vendor waits, too. It is also what one stream
#: may read before the others have their turn: half a millisecond.
CHUNKS_AHEAD = 64

#: How long a call is read to its end after its caller left, in seconds.
READ_TO_END_S = 120.0

#: How long we wait for a cut call's reader, or for the usage that follows the last finish reason.
SETTLE_S = 2.0


class CompletionStream:
    """One streamed answer: a reader thread fills a channel, and `take` empties it.

    The reader makes deadlines, keep-alives and reading on after a hang-up simple: whoever writes
    to the caller never waits for the vendor, nor the other way round.
    """

    def __init__(
        self,
        calls: Calls,
        request: CompletionRequest,
        meter: Meter,
        *,
        drains: threading.BoundedSemaphore,
        watchdog: Watchdog,
        client_disconnected: Callable[[], bool] | None,
    ) -> None:
        self._calls = calls
        self._request = request
        self._meter = meter
        self._drains = drains
        self._caller_left = client_disconnected
        self._watchdog = watchdog
        self._channel: Channel[Completion] = Channel(CHUNKS_AHEAD)
        self._quiet_until_s = math.inf
        self._ended: set[int] = set()
        self._last = Completion("", 0, request.model_name, ())
        self._begun = False
        self._status: Status | None = None
        self._closed = False

    @property
    def dropped(self) -> tuple[str, ...]:
        """The parameters that the vendor did not get."""
        return self._calls.plan.dropped

    @property
    def limit_headers(self) -> Mapping[str, str]:
        """What tells the caller how much of its limits is left."""
        return self._meter.limit_headers

    @property
    def attempts(self) -> int:
        """How many vendor calls have been made so far."""
        return self._meter.attempts

    @property
    def usage_chunk(self) -> Completion:
        """The last chunk of a stream whose caller asked for its usage: no choices."""
        return dataclasses.replace(self._last, choices=(), usage=self._meter.usage)

    def start(self) -> None:
        """Call the vendor, in a thread of its own."""
        self._watchdog.watch(self)
        threading.Thread(target=self._read, name="vendor-reader", daemon=True).start()

    def take(self, timeout_s: float) -> list[Completion] | None:
        """Return the chunks that have arrived; [] after `timeout_s` of silence; None at the end.

        The silence ends at one of the watchdog's ticks.
        Raises: GatewayError; Cancelled when nobody listens any more.
        """
        self._quiet_until_s, relayed = time.monotonic() + timeout_s, list[Completion]()
        while not relayed:  # a chunk of usage alone is not for the caller
            try:
                chunks = self._channel.take()
            except Cancelled:
                raise
            except BaseException as exc:
                self._failed(exc)
                raise
            if chunks is None:
                self._status = "completed"
                return None
            if not chunks:
                break
            relayed = self._relayed(chunks)
        return relayed

    def check(self, now_s: float) -> None:
        """End a silence that has lasted long enough (the watchdog's call)."""
        if now_s >= self._quiet_until_s:
            self.wake()

    def wake(self) -> None:
        """End the silence now, as if it had lasted long enough."""
        self._channel.wake()

    def close(self) -> None:
        """Record the request, and end the vendor's calls or read them to their end; acts once."""
        if self._closed:
            return
        self._closed = True
        self._watchdog.forget(self)
        drained = False
        try:
            if self._status is None:
                self._status, drained = self._finish_after_disconnect()
        finally:  # also when the server kills this thread while it settles
            self._channel.leave()
            self._meter.record(self._status or "disconnected", drained=drained)

    def _relayed(self, chunks: list[Completion]) -> list[Completion]:
        """Return the chunks that hold something for the caller."""
        relayed = [named(chunk, self._meter) for chunk in chunks if chunk.choices]
        for chunk in relayed:
            self._begun, self._last = True, chunk
            for choice in chunk.choices:
                if choice.finish_reason is not None:
                    self._ended.add(choice.index)
        return relayed

    def _failed(self, error: BaseException) -> None:
        self._status = "truncated" if self._begun else "failed"
        sum_up(error, self._meter)

    def _finish_after_disconnect(self) -> tuple[Status, bool]:
        """Deal with a caller that left in the middle; return the status, and whether we read on."""
        if self._calls.has_generated:  # only the usage is still to come, and it costs nothing
            has_all = self._generated
            whole, unsent = self._read_rest(SETTLE_S)
            return ("completed" if has_all and whole and not unsent else "disconnected"), False
        if self._reads_to_end and self._drains.acquire(blocking=False):
            try:
                whole, _ = self._read_rest(READ_TO_END_S)
            finally:
                self._drains.release()
            if whole:
                return "disconnected", True
        self._calls.end()
        self._read_rest(SETTLE_S)
        return "disconnected", False

    @property
    def _reads_to_end(self) -> bool:
        return self._calls.plan.vendor.on_disconnect == "read"

    @property
    def _generated(self) -> bool:
        """Whether the caller has the end of every choice."""
        return len(self._ended) >= self._request.choice_count

    def _read_rest(self, limit_s: float) -> tuple[bool, bool]:
        """Wait for the rest; return whether it came whole, and whether any was unsent text."""
        until_s, unsent = time.monotonic() + limit_s, False
        with contextlib.suppress(GatewayError, Cancelled):
            while (left_s := until_s - time.monotonic()) > 0:
                chunks = self._channel.take(left_s)
                if chunks is None:
                    return True, unsent
                unsent = bool(self._relayed(chunks)) or unsent
        return False, unsent

    def _read(self) -> None:
        """Read the vendor's answer into the channel, until its end (the reader thread)."""
        error: BaseException | None = None
        try:
            self._calls.run(self._meter, self._channel.put, client_disconnected=self._should_cancel)
        except ConsumerClosed:  # it has recorded what it wanted, or is to take no more
            error = Cancelled()
        except BaseException as exc:  # noqa: BLE001 - the consumer raises it
            error = exc
        finally:
            self._channel.finish(error)

    def _should_cancel(self) -> bool:
        """Whether the calls are to be cut now: the caller left while text was still to come."""
        return (
            self._caller_left is not None
            and not self._reads_to_end
            and not self._calls.has_generated
            and self._caller_left()
        )


def sum_up(error: BaseException, meter: Meter) -> None:
    """Have an error speak for the whole request: all its calls are over."""
    if isinstance(error, GatewayError):
        error.headers["x-tollgate-attempts"] = str(meter.attempts)
        error.headers.update(meter.limit_headers)
        error.billable = meter.source != "none"


def named(completion: Completion, meter: Meter) -> Completion:
    """Return the completion with an id, also when the vendor gives none."""
    if completion.id:
        return completion
    return dataclasses.replace(completion, id=f"cmpl-{meter.event_id}")
