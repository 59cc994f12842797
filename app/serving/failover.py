"""The vendor calls of one request: in parallel, and at the next candidate if one fails.

Owns failover and cancellation. Of the client, it knows only whether it is still connected.
"""

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence

from app.gateways.conversation.origins import disowned
from app.gateways.decoding.overflow import CODE
from app.serving.attempt import CallContext, Put
from app.serving.backoff import is_retryable
from app.serving.circuit_breaker import CircuitBreaker
from app.serving.in_flight import InFlightCalls
from app.serving.planning import first_plan
from app.serving.retry import CandidateCalls
from app.serving.routing import Candidate, Plan, Router
from app.serving.tries import note_tries
from app.transport.call import Reason, Transport
from app.usage.metering.meter import Meter
from app.vocabulary.completion import Completion
from app.vocabulary.errors import (
    GatewayError,
    InvalidRequest,
    ShuttingDown,
    VendorAuthentication,
    VendorRejected,
)
from app.vocabulary.request import GenerationRequest

#: Calls of one request that are in flight at the same time.
PARALLEL_LIMIT = 8

#: How often rejections of one request may change the plan for one candidate.
REPLANS_LIMIT = 2

#: Failures that do not count against a candidate's circuit.
NOT_COUNTED = (VendorRejected, VendorAuthentication, ShuttingDown)


class Calls:
    """Makes the vendor calls of one request, at its candidates in their order.

    Use `planned` to make one.
    """

    def __init__(
        self,
        request: GenerationRequest,
        candidates: Sequence[Candidate],
        plan: Plan,
        *,
        router: Router,
        transport: Transport,
        circuit_breaker: CircuitBreaker,
    ) -> None:
        self._request = request
        self._candidates = candidates
        self._plan = plan
        self._router = router
        self._transport = transport
        self._circuit_breaker = circuit_breaker
        self._in_flight = InFlightCalls(time.monotonic() + plan.vendor.timeouts.total_s)
        self._put_any = False

    @classmethod
    def planned(
        cls,
        request: GenerationRequest,
        candidates: Sequence[Candidate],
        *,
        router: Router,
        transport: Transport,
        circuit_breaker: CircuitBreaker,
    ) -> "Calls":
        """Return the calls of a request, planned for the first one tried, before it is admitted.

        Raises: InvalidRequest if the requested candidate does not support the request.
        """
        tried, plan = first_plan(request, candidates, router, circuit_breaker)
        return cls(
            request,
            tried,
            plan,
            router=router,
            transport=transport,
            circuit_breaker=circuit_breaker,
        )

    @property
    def plan(self) -> Plan:
        """The plan for the current candidate; in the end, for the one that answered."""
        return self._plan

    @property
    def has_generated(self) -> bool:
        """Whether vendors have reported the end of every choice."""
        return self._in_flight.choices_ended >= self._request.choice_count

    def run(
        self,
        meter: Meter,
        put: Put,
        *,
        client_disconnected: Callable[[], bool] | None = None,
        start_over: Callable[[], None] | None = None,
    ) -> None:
        """Make the calls and `put` their chunks, until every choice has come.

        `start_over` discards the chunks put so far; without it, there is no failover after the
        first chunk. A call is cancelled once `client_disconnected` returns True.
        Raises: GatewayError, the last one, or ShuttingDown; Cancelled. If a request was beyond the
        context of a candidate, and no other one answered, that is what the caller can change.
        """
        context = CallContext(self._transport, meter, self._in_flight, client_disconnected)
        try:
            self._run(context, put, start_over)
        except GatewayError as error:
            note_tries(error, Counter(meter.vendors_called))
            raise

    def _run(self, context: CallContext, put: Put, start_over: Callable[[], None] | None) -> None:
        failure: GatewayError | None = None
        overflow: GatewayError | None = None
        exceeded = 0
        for candidate in self._candidates:
            if overflow is not None and self._router.context(candidate) <= exceeded:
                continue  # it does not fit there, either, as far as is known
            if failure is not None and not self._is_replanned(candidate):
                continue  # the failure before it stands
            try:
                failure = self._failure_at(candidate, context, put)
            except InvalidRequest:  # found out by a rejection; of a substitute, not the caller's
                if failure is None:
                    raise
                continue
            if failure is None:
                return
            if failure.code == CODE and not self._put_any:
                overflow = overflow or failure
                exceeded = max(exceeded, self._router.context(candidate))
            elif not self._may_fail_over(failure, start_over):
                break
        if overflow is not None and not self._put_any:
            raise overflow
        if failure is not None:
            raise failure

    def cancel(self, reason: Reason = "cancelled") -> None:
        """Cancel every call in flight, and prevent others from beginning."""
        self._in_flight.cancel_all(reason)

    def _is_replanned(self, candidate: Candidate) -> bool:
        """Plan for the next candidate; return False if it does not support the request."""
        try:
            self._plan = self._router.plan(candidate, self._request)
        except InvalidRequest:
            return False
        return True

    def _failure_at(
        self, candidate: Candidate, context: CallContext, put: Put
    ) -> GatewayError | None:
        """Call a candidate, and report to the circuit breaker; return the failure, if any."""
        try:
            self._answer(context, put)
        except GatewayError as error:
            if not isinstance(error, NOT_COUNTED):
                self._circuit_breaker.record_failure(candidate.vendor.name)
            return error
        self._circuit_breaker.record_success(candidate.vendor.name)
        return None

    def _may_fail_over(self, failure: GatewayError, start_over: Callable[[], None] | None) -> bool:
        if not is_retryable(failure) or time.monotonic() >= self._in_flight.deadline_s:
            return False
        if self._put_any:
            if start_over is None:
                return False
            start_over()
            self._put_any = False
        return True

    def _answer(self, context: CallContext, put: Put) -> None:
        """Make the current candidate's calls; change the plan if a rejection shows how."""
        for _ in range(REPLANS_LIMIT):
            try:
                self._run_parallel(context, put)
            except VendorRejected as error:
                if self._put_any or not (self._disowns(error) or self._learns(error)):
                    raise
                self._plan = self._router.plan(self._plan.candidate, self._request)
            else:
                return
        self._run_parallel(context, put)

    def _learns(self, error: VendorRejected) -> bool:
        return self._router.learn(self._plan, error)

    def _disowns(self, error: VendorRejected) -> bool:
        """Go on without signatures if the vendor has rejected one: another has given it."""
        request = disowned(self._request, error)
        self._request = request or self._request
        return request is not None

    def _run_parallel(self, context: CallContext, put: Put) -> None:
        """Make the calls of all sub-requests; the first failure ends the others."""
        calls, waiting = CandidateCalls(context, self._plan), deque(self._plan.sub_requests)
        errors: list[BaseException] = []

        def relay(chunk: Completion) -> None:
            self._put_any = True
            put(chunk)

        def work() -> None:
            while not errors:
                try:
                    sub_request = waiting.popleft()
                except IndexError:
                    return  # another thread has taken the last one
                try:
                    calls.answer(sub_request, relay)
                except BaseException as exc:  # noqa: BLE001 - raised again below
                    errors.append(exc)
                    self._in_flight.sibling_failed(exc)

        self._in_flight.begin_again()
        _in_parallel(work, min(PARALLEL_LIMIT, len(waiting)))
        if errors:
            raise errors[0]


def _in_parallel(work: Callable[[], None], count: int) -> None:
    if count == 1:
        work()
        return
    threads = [threading.Thread(target=work, name="vendor-call", daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
