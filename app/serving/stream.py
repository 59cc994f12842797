"""One streamed completion: relays the vendor's chunks to the client as they arrive.

Handles clients that disconnect or read slowly, and vendors that are silent.
"""

import contextlib
import math
import threading
import time
from collections.abc import Callable, Mapping

from app.pricing.price_book import PriceBook
from app.serving.channel import Channel, ConsumerClosed
from app.serving.failover import Calls
from app.serving.model_names import sendable
from app.transport.watchdog import Watchdog
from app.usage.metering.meter import Meter
from app.vocabulary.completion import Completion
from app.vocabulary.errors import Cancelled, GatewayError
from app.vocabulary.request import GenerationRequest
from app.vocabulary.statuses import Status

#: Chunks that may wait for a slow client; then its vendor waits, too. It also bounds how long one
#: stream reads before the others get their turn: half a millisecond.
CHUNKS_AHEAD = 64

#: How long a call is read to its end after the client has disconnected, in seconds.
READ_TO_END_S = 120.0

#: How long to wait for a cancelled call's reader, or for the usage after the last finish reason,
#: in seconds.
SETTLE_S = 2.0


class CompletionStream:
    """One streamed completion: a reader thread fills a channel, and `take` empties it.

    The reader thread keeps deadlines, keep-alives and reading after a disconnect simple: the
    thread that writes to the client never waits for the vendor, nor the other way round.
    """

    def __init__(
        self,
        calls: Calls,
        request: GenerationRequest,
        meter: Meter,
        *,
        read_slots: threading.BoundedSemaphore,
        watchdog: Watchdog,
        client_disconnected: Callable[[], bool] | None,
    ) -> None:
        self._calls = calls
        self._request = request
        self._meter = meter
        self._read_slots = read_slots
        self._client_disconnected = client_disconnected
        self._watchdog = watchdog
        self._channel: Channel[Completion] = Channel(CHUNKS_AHEAD)
        self._quiet_until_s = math.inf
        self._ended: set[int] = set()
        self._last = Completion("", 0, request.model_name, ())
        self._begun = False
        self._status: Status | None = None
        self._error: BaseException | None = None
        self._closed = False

    @property
    def dropped(self) -> tuple[str, ...]:
        """The parameters that were not sent to the vendor."""
        return self._calls.plan.dropped

    @property
    def limit_headers(self) -> Mapping[str, str]:
        """The rate-limit headers of the response."""
        return self._meter.limit_headers

    @property
    def attempts(self) -> int:
        """The number of vendor calls so far."""
        return self._meter.attempts

    def model(self, reported: str) -> str:
        """Return the name of the model that can be sent back, for the one that a chunk has."""
        return sendable(self._calls.plan, reported)

    def cost(self, prices: PriceBook) -> int | None:
        """Return the cost in nano-dollars, once `take` has returned None; None if unknown."""
        return self._meter.cost(prices)

    @property
    def usage_chunk(self) -> Completion:
        """The last chunk, without choices, if the caller requested the usage."""
        return self._last._replace(choices=(), usage=self._meter.usage)

    def start(self) -> None:
        """Call the vendor, in a new thread."""
        self._watchdog.watch(self)
        threading.Thread(target=self._read, name="vendor-reader", daemon=True).start()

    def take(self, timeout_s: float) -> list[Completion] | None:
        """Return the chunks that have arrived; [] after `timeout_s` of silence; None at the end.

        The watchdog's tick bounds the precision of `timeout_s`.
        Raises: GatewayError; Cancelled if the client has disconnected.
        """
        self._quiet_until_s, relayed = time.monotonic() + timeout_s, list[Completion]()
        while not relayed:  # chunks without choices are not for the client
            try:
                chunks = self._channel.get_all()
            except Cancelled:
                raise
            except BaseException as exc:
                self.failed(exc)
                raise
            if chunks is None:
                self._status = "completed"
                return None
            if not chunks:
                break
            relayed = self._relayed(chunks)
        return relayed

    def check(self, now_s: float) -> None:
        """Wake `take` if its timeout is over (called by the watchdog)."""
        if now_s >= self._quiet_until_s:
            self.wake()

    def wake(self) -> None:
        """Wake `take` now, as if its timeout were over."""
        self._channel.wake()

    def close(self) -> None:
        """Record the request, and cancel the vendor's calls or read them to the end; acts once."""
        if self._closed:
            return
        self._closed = True
        self._watchdog.forget(self)
        read_to_end = False
        try:
            if self._status is None:
                self._status, read_to_end = self._finish_after_disconnect()
        finally:  # even if the server kills this thread meanwhile
            self._channel.close()
            status = self._status or "disconnected"
            self._meter.record(status, self._error, read_to_end=read_to_end)

    def _relayed(self, chunks: list[Completion]) -> list[Completion]:
        """Return the chunks with choices, after noting the choices that end in them."""
        relayed = []
        for chunk in chunks:
            if not chunk.choices:
                continue
            last = self._last
            is_usual = self._begun and chunk.id is last.id and chunk.model is last.model
            self._last = chunk if is_usual else self._named(chunk)
            relayed.append(self._last)
            for choice in chunk.choices:
                if choice.finish_reason is not None:
                    self._ended.add(choice.index)
        return relayed

    def _named(self, chunk: Completion) -> Completion:
        """Return a chunk with the id and the model of the first one, which others may lack."""
        if not self._begun:
            chunk = with_id(chunk, self._meter)
        elif chunk.id != self._last.id or chunk.model != self._last.model:
            chunk = chunk._replace(id=self._last.id, model=self._last.model)
        self._begun = True
        return chunk

    def failed(self, error: BaseException) -> None:
        """Note why the client does not get the rest; what it has cost by now is added to it."""
        self._status = "truncated" if self._begun else "failed"
        self._error = error
        add_totals(error, self._meter)

    def _finish_after_disconnect(self) -> tuple[Status, bool]:
        """Finish after a disconnect; return the status, and whether the rest was read."""
        if self._calls.has_generated:  # only the usage is missing, and it costs nothing
            has_all = self._generated
            whole, unsent = self._read_rest(SETTLE_S)
            return ("completed" if has_all and whole and not unsent else "disconnected"), False
        if self._reads_to_end and self._read_slots.acquire(blocking=False):
            try:
                whole, _ = self._read_rest(READ_TO_END_S)
            finally:
                self._read_slots.release()
            if whole:
                return "disconnected", True
        self._calls.cancel()
        self._read_rest(SETTLE_S)
        return "disconnected", False

    @property
    def _reads_to_end(self) -> bool:
        return self._calls.plan.vendor.on_disconnect == "read"

    @property
    def _generated(self) -> bool:
        """Whether the client has got the end of every choice."""
        return len(self._ended) >= self._request.choice_count

    def _read_rest(self, limit_s: float) -> tuple[bool, bool]:
        """Read the rest; return whether it is complete, and whether it has choices."""
        until_s, unsent = time.monotonic() + limit_s, False
        with contextlib.suppress(GatewayError, Cancelled):
            while (left_s := until_s - time.monotonic()) > 0:
                chunks = self._channel.get_all(left_s)
                if chunks is None:
                    return True, unsent
                unsent = bool(self._relayed(chunks)) or unsent
        return False, unsent

    def _read(self) -> None:
        """Put the vendor's chunks into the channel, until their end (the reader thread)."""
        error: BaseException | None = None
        try:
            self._calls.run(self._meter, self._channel.put, client_disconnected=self._should_cancel)
        except ConsumerClosed:  # the request has been recorded
            error = Cancelled()
        except BaseException as exc:  # noqa: BLE001 - the consumer raises it
            error = exc
        finally:
            self._channel.finish(error)

    def _should_cancel(self) -> bool:
        """Whether to cancel the calls: the client has disconnected and text is still to come."""
        return (
            self._client_disconnected is not None
            and not self._reads_to_end
            and not self._calls.has_generated
            and self._client_disconnected()
        )


def add_totals(error: BaseException, meter: Meter) -> None:
    """Add the whole request's attempts, limits and billing to an error, when all calls are over."""
    if isinstance(error, GatewayError):
        error.headers["x-tollgate-attempts"] = str(meter.attempts)
        error.headers.update(meter.limit_headers)
        error.billable = meter.source != "none"


def with_id(completion: Completion, meter: Meter) -> Completion:
    """Return the completion with an id: the vendor's, or one made from the event's."""
    if completion.id:
        return completion
    return completion._replace(id=f"{meter.request.id_prefix}-{meter.event_id}")
