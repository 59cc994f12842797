"""The completion service: one request in, one metered answer out, whole or as a stream.

Owns the order of things: plan, admit and open the record, call, record the usage once. Knows no
HTTP of ours and no vendor's wire.
"""

import dataclasses
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from weakref import WeakSet

from app.serving.circuit_breaker import CircuitBreaker
from app.serving.failover import Calls
from app.serving.fan_out import merge
from app.serving.routing import Router
from app.serving.stream import CompletionStream, named, sum_up
from app.transport.call import Transport
from app.transport.watchdog import Watchdog
from app.usage.meter import Meter, RequestContext
from app.usage.recorder import Recorder
from app.vocabulary.completion import Completion, CompletionRequest
from app.vocabulary.errors import ShuttingDown

#: How many calls a process reads to their end after their callers left.
DRAINS_LIMIT = 64


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole completion. `record` is to be called when its last byte has gone to the caller."""

    completion: Completion
    limit_headers: Mapping[str, str]
    dropped: tuple[str, ...]
    attempts: int
    record: Callable[[], None]


class CompletionService:
    """Answers completion requests."""

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
        self._rests = circuit_breaker
        self._accounting = recorder
        self._watchdog = watchdog
        self._drains = threading.BoundedSemaphore(DRAINS_LIMIT)
        self._under_way: WeakSet[Calls] = WeakSet()
        self._leaving = False

    def complete(self, request: CompletionRequest, context: RequestContext) -> Answer:
        """Return the vendor's whole answer.

        A caller that leaves meanwhile changes nothing: the vendor charges for it all the same.
        Raises: InvalidRequest, LimitReached, GatewayError, StreamUnavailable.
        """
        calls, meter = self._begin(request, context)
        answers: list[Completion] = []
        try:
            calls.run(meter, answers.append, start_over=answers.clear)
        except BaseException as exc:
            sum_up(exc, meter)
            meter.record("failed")
            raise
        completion, usage = named(merge(answers), meter), meter.usage
        if completion.usage is not usage:
            completion = dataclasses.replace(completion, usage=usage)
        return Answer(
            completion,
            meter.limit_headers,
            calls.plan.dropped,
            meter.attempts,
            lambda: meter.record("completed"),
        )

    def stream(
        self,
        request: CompletionRequest,
        context: RequestContext,
        client_disconnected: Callable[[], bool] | None = None,
    ) -> "CompletionStream":
        """Return the vendor's answer as it arrives; the result must be closed.

        Raises: InvalidRequest, LimitReached, StreamUnavailable. Vendors' errors come out of `take`.
        """
        calls, meter = self._begin(request, context)
        stream = CompletionStream(
            calls,
            request,
            meter,
            drains=self._drains,
            watchdog=self._watchdog,
            client_disconnected=client_disconnected,
        )
        stream.start()
        return stream

    def cut(self) -> None:
        """End what is under way with ShuttingDown, and begin nothing more: the process leaves."""
        self._leaving = True
        for calls in tuple(self._under_way):
            calls.end("shutdown")

    def _begin(self, request: CompletionRequest, context: RequestContext) -> tuple[Calls, Meter]:
        if self._leaving:
            raise ShuttingDown
        deployments = self._router.deployments(request)
        calls = Calls(
            request,
            deployments,
            router=self._router,
            transport=self._transport,
            circuit_breaker=self._rests,
        )
        self._under_way.add(calls)
        # Without limits nothing is reserved, and nobody asks who may serve.
        candidates = [self._router.candidate(it) for it in deployments] if context.limits else ()
        meter = Meter(self._accounting, context, request, candidates)
        meter.open()
        return calls, meter
