"""The completion service: one request in, one metered completion out, whole or as a stream.

Owns the order of the steps: plan, admit and open the record, call, record the usage once. Does
not depend on our HTTP API or on any vendor's API format.
"""

import threading
from collections.abc import Callable, Mapping
from typing import NamedTuple
from weakref import WeakSet

from app.pricing.price_book import PriceBook
from app.serving.circuit_breaker import CircuitBreaker
from app.serving.failover import Calls
from app.serving.fan_out import merge
from app.serving.model_names import sendable
from app.serving.routing import Router
from app.serving.stream import CompletionStream, add_totals, with_id
from app.transport.call import Transport
from app.transport.watchdog import Watchdog
from app.usage.metering.meter import Meter
from app.usage.metering.request_context import RequestContext
from app.usage.recording.recorder import Recorder
from app.vendors.vendor import Vendor
from app.vocabulary.completion import Completion
from app.vocabulary.errors import ShuttingDown
from app.vocabulary.request import Endpoint, GenerationRequest

#: How many calls a process reads to the end at a time, after their clients have disconnected.
READ_TO_END_LIMIT = 64


class Answer(NamedTuple):
    """A whole completion. Call `record` when its last byte has been sent to the client."""

    completion: Completion
    #: The name of the model that can be sent back.
    model: str
    limit_headers: Mapping[str, str]
    dropped: tuple[str, ...]
    attempts: int
    #: Returns the cost in nano-dollars; None if it is unknown.
    cost: Callable[[PriceBook], int | None]
    record: Callable[[], None]


class CompletionService:
    """Completes requests, and cancels them all when the process shuts down."""

    def __init__(
        self,
        router: Router,
        transport: Transport,
        circuit_breaker: CircuitBreaker,
        recorder: Recorder,
        watchdog: Watchdog,
    ) -> None:
        self._router = router
        self._transport = transport
        self._circuit_breaker = circuit_breaker
        self._recorder = recorder
        self._watchdog = watchdog
        self._read_slots = threading.BoundedSemaphore(READ_TO_END_LIMIT)
        self._in_flight: WeakSet[Calls] = WeakSet()
        self._shutting_down = False

    def complete(self, request: GenerationRequest, context: RequestContext) -> Answer:
        """Return the vendor's whole completion.

        It goes on if the client disconnects: the vendor charges for it all the same.
        Raises: InvalidRequest, LimitReached, GatewayError, StreamUnavailable.
        """
        calls, meter = self._begin(request, context)
        chunks: list[Completion] = []
        try:
            calls.run(meter, chunks.append, start_over=chunks.clear)
            completion = with_id(merge(chunks), meter)
        except BaseException as exc:
            add_totals(exc, meter)
            meter.record("failed", exc)
            raise
        usage = meter.usage
        if completion.usage is not usage:
            completion = completion._replace(usage=usage)
        return Answer(
            completion,
            sendable(calls.plan, completion.model),
            meter.limit_headers,
            calls.plan.dropped,
            meter.attempts,
            meter.cost,
            lambda: meter.record("completed"),
        )

    def stream(
        self,
        request: GenerationRequest,
        context: RequestContext,
        client_disconnected: Callable[[], bool] | None = None,
    ) -> "CompletionStream":
        """Start a streamed completion, and return it; it must be closed.

        Raises: InvalidRequest, LimitReached, StreamUnavailable. `take` raises vendors' errors.
        """
        calls, meter = self._begin(request, context)
        stream = CompletionStream(
            calls,
            request,
            meter,
            read_slots=self._read_slots,
            watchdog=self._watchdog,
            client_disconnected=client_disconnected,
        )
        stream.start()
        return stream

    def serves(self, vendor: Vendor, endpoint: Endpoint) -> bool:
        """Whether requests to the endpoint can be made of a vendor."""
        return self._router.serves(vendor, endpoint)

    def dropped(self, request: GenerationRequest) -> tuple[str, ...]:
        """Return the parameters of a request that would not be sent to its vendor.

        Nothing is sent. Raises: InvalidRequest if the vendor does not support it.
        """
        return self._router.plan(self._router.candidates(request)[0], request).dropped

    def patience_s(self, request: GenerationRequest) -> float:
        """Return the longest that the requested vendor may take, in seconds.

        Raises: ModelNotFound.
        """
        return self._router.candidates(request)[0].vendor.timeouts.total_s

    def raise_if_shutting_down(self) -> None:
        """Raise ShuttingDown after `cancel_all`."""
        if self._shutting_down:
            raise ShuttingDown

    def cancel_all(self) -> None:
        """Cancel all requests in flight with ShuttingDown, and reject new ones."""
        self._shutting_down = True
        for calls in tuple(self._in_flight):
            calls.cancel("shutdown")

    def close(self) -> None:
        """End the watchdog once no call is left."""
        self._watchdog.close()

    def _begin(self, request: GenerationRequest, context: RequestContext) -> tuple[Calls, Meter]:
        self.raise_if_shutting_down()
        candidates = self._router.candidates(request)
        calls = Calls.planned(
            request,
            candidates,
            router=self._router,
            transport=self._transport,
            circuit_breaker=self._circuit_breaker,
        )
        self._in_flight.add(calls)
        # Without limits, nothing is reserved, and the candidates' costs do not matter.
        costs = (
            [self._router.cost_candidate(it, request.endpoint) for it in candidates]
            if context.limits
            else ()
        )
        model = candidates[0].vendor.booked_name(request.model_name)
        meter = Meter(self._recorder, context, request, costs, model)
        meter.open()
        return calls, meter
