"""The completer: one request in, one metered answer out, whole or as a stream.

Owns the order of things: admit and open the record, call the vendor, record the usage once.
Knows no HTTP of ours and no vendor's wire.
"""

import contextlib
import dataclasses
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from app.channel import Channel, ConsumerGone
from app.completion import Completion, CompletionRequest
from app.errors import GatewayError
from app.gateways import FAMILIES
from app.gateways.base import Gateway, Vendor, VendorRequest
from app.gateways.transport import CallerLeft, Transport, VendorCall, deadline_after
from app.gateways.vendors import VendorTable
from app.usage.event import Status
from app.usage.meter import Meter, RequestContext
from app.usage.stream import EventStream

#: Chunks that may wait for a slow caller; then its vendor waits, too.
CHUNKS_AHEAD = 256

#: How many calls a process reads to their end after their callers left, and for how long.
DRAINS_LIMIT = 64
DRAIN_S = 120.0

#: How long we wait for a cut call's reader, or for the usage that follows the last finish reason.
SETTLE_S = 2.0


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole completion. `record` is to be called when its last byte has gone to the caller."""

    completion: Completion
    dropped: tuple[str, ...]
    record: Callable[[], None]


@dataclass(frozen=True, slots=True)
class _Plan:
    """One vendor call to make."""

    vendor: Vendor
    gateway: Gateway
    vendor_request: VendorRequest


class Completer:
    """Answers completion requests."""

    def __init__(self, vendors: VendorTable, transport: Transport, stream: EventStream) -> None:
        self._vendors = vendors
        self._transport = transport
        self._stream = stream
        self._drains = threading.BoundedSemaphore(DRAINS_LIMIT)

    def complete(self, request: CompletionRequest, context: RequestContext) -> Answer:
        """Return the vendor's whole answer.

        A caller that leaves meanwhile changes nothing: the vendor charges for it all the same.
        Raises: InvalidRequest, GatewayError, StreamUnavailable.
        """
        plan = self._plan(request)
        meter = self._open(request, context)
        try:
            completion = self._call(plan, request, meter)
        except BaseException as exc:
            if isinstance(exc, GatewayError):
                meter.failed(exc)
            meter.record("failed")
            raise
        meter.observe(completion)
        answer = dataclasses.replace(_named(completion, meter), usage=meter.usage)
        return Answer(answer, plan.vendor_request.dropped, lambda: meter.record("completed"))

    def stream(
        self,
        request: CompletionRequest,
        context: RequestContext,
        caller_left: Callable[[], bool] | None = None,
    ) -> "CompletionStream":
        """Return the vendor's answer as it arrives; the result must be closed.

        Raises: InvalidRequest, StreamUnavailable. Vendors' errors come out of `take`.
        """
        plan = self._plan(request)
        meter = self._open(request, context)
        stream = CompletionStream(
            plan,
            request,
            meter,
            transport=self._transport,
            drains=self._drains,
            caller_left=caller_left,
        )
        stream.start()
        return stream

    def _plan(self, request: CompletionRequest) -> _Plan:
        vendor = self._vendors.find(request.vendor)
        gateway = FAMILIES[vendor.gateway].native
        assert gateway is not None
        return _Plan(vendor, gateway, gateway.encode(vendor, request))

    def _open(self, request: CompletionRequest, context: RequestContext) -> Meter:
        meter = Meter(self._stream, context, request)
        meter.open()
        return meter

    def _call(self, plan: _Plan, request: CompletionRequest, meter: Meter) -> Completion:
        meter.attempts += 1
        with self._transport.call(plan.vendor, plan.vendor_request) as call:
            _answered(plan, call, meter)
            return plan.gateway.decode(plan.vendor, request, call.body())


class CompletionStream:
    """One streamed answer: a reader thread fills a channel, and `take` empties it.

    The reader makes deadlines, keep-alives and reading on after a hang-up simple: whoever writes
    to the caller never waits for the vendor, nor the other way round.
    """

    def __init__(
        self,
        plan: _Plan,
        request: CompletionRequest,
        meter: Meter,
        *,
        transport: Transport,
        drains: threading.BoundedSemaphore,
        caller_left: Callable[[], bool] | None,
    ) -> None:
        self._transport = transport
        self._plan = plan
        self._request = request
        self._meter = meter
        self._drains = drains
        self._caller_left = caller_left
        self._channel: Channel[Completion] = Channel(CHUNKS_AHEAD)
        self._call: VendorCall | None = None
        self._open: set[int] = set()
        self._last = Completion("", 0, request.model_name, ())
        self._begun = False
        self._status: Status | None = None
        self._closed = False

    @property
    def dropped(self) -> tuple[str, ...]:
        """The parameters that the vendor did not get."""
        return self._plan.vendor_request.dropped

    @property
    def usage_chunk(self) -> Completion:
        """The last chunk of a stream whose caller asked for its usage: no choices."""
        return dataclasses.replace(self._last, choices=(), usage=self._meter.usage)

    def start(self) -> None:
        """Call the vendor, in a thread of its own."""
        threading.Thread(target=self._read, name="vendor-reader", daemon=True).start()

    def take(self, timeout_s: float) -> list[Completion] | None:
        """Return the chunks that have arrived; [] after `timeout_s` of silence; None at the end.

        Raises: GatewayError; CallerLeft when nobody listens any more.
        """
        until_s, relayed = time.monotonic() + timeout_s, list[Completion]()
        while not relayed:  # a chunk of usage alone is not for the caller
            try:
                chunks = self._channel.take(max(0.0, until_s - time.monotonic()))
            except CallerLeft:
                raise
            except BaseException as exc:
                self._failed(exc)
                raise
            if chunks is None:
                self._status = "completed"
                return None
            if not chunks:
                break
            relayed = self._observed(chunks)
        return relayed

    def close(self) -> None:
        """Record the request, and end the vendor's call or read it to its end; acts once."""
        if self._closed:
            return
        self._closed = True
        drained = False
        if self._status is None:
            self._status, drained = self._settle()
        self._channel.leave()
        self._meter.record(self._status, drained=drained)

    def _observed(self, chunks: list[Completion]) -> list[Completion]:
        """Meter the chunks; return those that hold something for the caller."""
        relayed = []
        for chunk in chunks:
            self._meter.observe(chunk)
            if chunk.choices:
                self._last = _named(chunk, self._meter)
                relayed.append(self._last)
                for choice in chunk.choices:
                    if choice.finish_reason is None:
                        self._open.add(choice.index)
                    else:
                        self._open.discard(choice.index)
        self._begun = self._begun or bool(relayed)
        return relayed

    def _failed(self, error: BaseException) -> None:
        if isinstance(error, GatewayError):
            self._meter.failed(error)
        self._status = "truncated" if self._begun else "failed"

    def _settle(self) -> tuple[Status, bool]:
        """Deal with a caller that left in the middle; return the status, and whether we read on."""
        if self._generated:  # only the usage is still to come, and it costs nothing
            whole, unsent = self._read_on(SETTLE_S)
            return ("disconnected" if unsent or not whole else "completed"), False
        if self._plan.vendor.on_disconnect == "drain" and self._drains.acquire(blocking=False):
            try:
                whole, _ = self._read_on(DRAIN_S)
            finally:
                self._drains.release()
            if whole:
                return "disconnected", True
        if self._call is not None:
            self._call.end("caller")
        self._read_on(SETTLE_S)
        return "disconnected", False

    @property
    def _generated(self) -> bool:
        """Whether every choice that began has ended."""
        return self._begun and not self._open

    def _read_on(self, limit_s: float) -> tuple[bool, bool]:
        """Meter the rest; return whether it came whole, and whether any of it was unsent text."""
        until_s, unsent = time.monotonic() + limit_s, False
        with contextlib.suppress(GatewayError, CallerLeft):
            while (left_s := until_s - time.monotonic()) > 0:
                chunks = self._channel.take(left_s)
                if chunks is None:
                    return True, unsent
                unsent = bool(self._observed(chunks)) or unsent
        return False, unsent

    def _read(self) -> None:
        """Read the vendor's answer into the channel, until its end (the reader thread)."""
        error: BaseException | None = None
        try:
            for chunk in self._chunks():
                self._channel.put(chunk)
        except ConsumerGone:
            pass  # it has recorded what it wanted
        except BaseException as exc:  # noqa: BLE001 - the consumer raises it
            error = exc
        finally:
            self._channel.finish(error)

    def _chunks(self) -> Iterator[Completion]:
        plan, timeouts = self._plan, self._plan.vendor.timeouts
        self._meter.attempts += 1
        with self._transport.call(plan.vendor, plan.vendor_request, self._abandoned) as call:
            self._call = call
            started_s = time.monotonic()
            call.deadline_s = deadline_after(timeouts, started_s, started_s, first=True)
            _answered(plan, call, self._meter)
            if call.headers.get("content-type", "").startswith("application/json"):
                # An error in disguise, or a vendor that does not stream: one chunk, or a failure.
                yield plan.gateway.decode(plan.vendor, self._request, call.body())
                return
            decoder = plan.gateway.stream_decoder(plan.vendor, self._request)
            for packet in call.packets():
                for chunk in decoder.feed(packet):
                    call.deadline_s = deadline_after(
                        timeouts, started_s, time.monotonic(), first=False
                    )
                    yield chunk
            yield from decoder.close()

    def _abandoned(self) -> bool:
        """Whether the call is to be cut now: the caller left while text was still to come."""
        return (
            self._caller_left is not None
            and self._plan.vendor.on_disconnect == "cancel"
            and not self._generated
            and self._caller_left()
        )


def _answered(plan: _Plan, call: VendorCall, meter: Meter) -> None:
    """Send a call and wait for a response with status 200.

    Raises: GatewayError, for any other status too.
    """
    call.send()
    meter.http_status = call.status
    meter.vendor_request_id = _request_id(call)
    if call.status != 200:
        raise plan.gateway.decode_error(plan.vendor, call.status, call.headers, call.body())
    meter.billable = True


#: Where vendors put the id of a request, for asking them about it.
REQUEST_ID_HEADERS = ("x-request-id", "request-id", "apim-request-id", "x-amzn-requestid")


def _request_id(call: VendorCall) -> str | None:
    found = next((v for name in REQUEST_ID_HEADERS if (v := call.headers.get(name))), None)
    return found[:128] if found and found.isprintable() else None


def _named(completion: Completion, meter: Meter) -> Completion:
    """Return the completion with an id, also when the vendor gives none."""
    return (
        completion
        if completion.id
        else dataclasses.replace(completion, id=f"cmpl-{meter.event_id}")
    )
