"""The vendor calls of one request: made side by side, or elsewhere, until it is answered.

Owns failover, and the cutting of what is under way. Knows nothing of the caller but whether it is
still there.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

from app.serving.backoff import is_retryable
from app.serving.circuit_breaker import CircuitBreaker
from app.serving.retry import Asking
from app.serving.routing import Candidate, Plan, Router
from app.serving.siblings import UnderWay
from app.transport.call import Reason, Transport
from app.usage.meter import Meter
from app.vocabulary.completion import Completion, CompletionRequest
from app.vocabulary.errors import (
    GatewayError,
    InvalidRequest,
    ShuttingDown,
    VendorAuthentication,
    VendorRejected,
)

#: Calls of one request that are under way at the same time.
SIDE_BY_SIDE = 8

#: How many refusals of one request may each teach us another way to ask.
LESSONS = 2

Put = Callable[[Completion], None]


class Calls:
    """Answers one request, on the deployments that may do so, in their order.

    Made before the request is admitted: what the first deployment cannot honour is refused then.
    Raises: InvalidRequest.
    """

    def __init__(
        self,
        request: CompletionRequest,
        deployments: Sequence[Candidate],
        *,
        router: Router,
        transport: Transport,
        circuit_breaker: CircuitBreaker,
    ) -> None:
        self._request = request
        self._router = router
        self._transport = transport
        self._rests = circuit_breaker
        self._deployments = _without_open_circuits(deployments, circuit_breaker)
        self._plan = router.plan(self._deployments[0], request)
        self._under_way = UnderWay(time.monotonic() + self._plan.vendor.timeouts.total_s)

    @property
    def plan(self) -> Plan:
        """How the deployment that is tried now, or that answered, was asked."""
        return self._plan

    def run(
        self,
        meter: Meter,
        put: Put,
        *,
        client_disconnected: Callable[[], bool] | None = None,
        start_over: Callable[[], None] | None = None,
    ) -> None:
        """Make the calls, and `put` what they answer, until all is answered.

        `start_over` forgets what was put; without it, nothing is tried again after the first put.
        `client_disconnected` ends a call that nobody waits for.
        Raises: GatewayError, the last one, or ShuttingDown; Cancelled.
        """
        for at, deployment in enumerate(self._deployments):
            if at > 0:
                try:
                    self._plan = self._router.plan(deployment, self._request)
                except InvalidRequest:
                    continue  # it cannot honour the request; the failure before it stands
            try:
                self._answer(meter, put, client_disconnected)
            except GatewayError as error:
                failure = error
            else:
                self._rests.succeeded(deployment.vendor.name)
                return
            if not isinstance(failure, VendorRejected | VendorAuthentication | ShuttingDown):
                self._rests.failed(deployment.vendor.name)
            if not self._may_go_on(failure, start_over):
                raise failure
        raise failure

    def end(self, reason: Reason = "cancelled") -> None:
        """Cut every call that is under way, and begin no other."""
        self._under_way.end(reason)

    @property
    def has_generated(self) -> bool:
        """Whether the vendors have said of every choice that it has ended."""
        return self._under_way.choices_ended >= self._request.choice_count

    _put_any = False

    def _may_go_on(self, failure: GatewayError, start_over: Callable[[], None] | None) -> bool:
        if not is_retryable(failure) or time.monotonic() >= self._under_way.deadline_s:
            return False
        if self._put_any:
            if start_over is None:
                return False
            start_over()
            self._put_any = False
        return True

    def _answer(
        self, meter: Meter, put: Put, client_disconnected: Callable[[], bool] | None
    ) -> None:
        """Have the current plan's deployment answer, in another way if its refusal names one."""
        for _ in range(LESSONS):
            try:
                self._run_parts(meter, put, client_disconnected)
            except VendorRejected as error:
                if self._put_any or not self._router.learn(self._plan, error):
                    raise
                self._plan = self._router.plan(self._plan.deployment, self._request)
            else:
                return
        self._run_parts(meter, put, client_disconnected)

    def _run_parts(
        self, meter: Meter, put: Put, client_disconnected: Callable[[], bool] | None
    ) -> None:
        waiting, errors = deque(self._plan.parts), list[BaseException]()
        asking = Asking(self._plan, self._transport, meter, self._under_way, client_disconnected)

        def work() -> None:
            while not errors:
                try:
                    part = waiting.popleft()
                except IndexError:
                    return  # another thread has taken the last one
                try:
                    for chunk in asking.answered(part):
                        self._put_any = True
                        put(chunk)
                except BaseException as exc:  # noqa: BLE001 - raised again below
                    errors.append(exc)
                    self._under_way.one_failed(exc)

        self._under_way.begin_again()
        if len(waiting) == 1:
            work()
        else:
            _side_by_side(work, min(SIDE_BY_SIDE, len(waiting)))
        if errors:
            raise errors[0]


def _without_open_circuits(
    deployments: Sequence[Candidate], circuit_breaker: CircuitBreaker
) -> list[Candidate]:
    """Return the deployments that do not rest; all of them where none is left."""
    if len(deployments) == 1:
        return list(deployments)
    resting = circuit_breaker.resting()
    awake = [deployment for deployment in deployments if deployment.vendor.name not in resting]
    return awake or list(deployments)


def _side_by_side(work: Callable[[], None], count: int) -> None:
    threads = [threading.Thread(target=work, name="vendor-call", daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
