"""The vendor calls of one request: made side by side, or elsewhere, until it is answered.

Owns failover, and the cutting of what is under way. Knows nothing of the caller but whether it is
still there.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

from app.serving.backoff import is_passing
from app.serving.circuit_breaker import Rests
from app.serving.retry import Asking
from app.serving.routing import Deployment, Plan, Router
from app.serving.siblings import UnderWay
from app.transport.call import Reason, Transport
from app.usage.meter import Meter
from app.vocabulary.completion import Completion, CompletionRequest
from app.vocabulary.errors import (
    GatewayError,
    InvalidRequest,
    ShuttingDown,
    VendorAuthentication,
    VendorRefused,
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
        deployments: Sequence[Deployment],
        *,
        router: Router,
        transport: Transport,
        rests: Rests,
    ) -> None:
        self._request = request
        self._router = router
        self._transport = transport
        self._rests = rests
        self._deployments = _rested_last(deployments, rests)
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
        caller_left: Callable[[], bool] | None = None,
        start_over: Callable[[], None] | None = None,
    ) -> None:
        """Make the calls, and `put` what they answer, until all is answered.

        `start_over` forgets what was put; without it, nothing is tried again after the first put.
        `caller_left` ends a call that nobody waits for.
        Raises: GatewayError, the last one, or ShuttingDown; Cancelled.
        """
        for at, deployment in enumerate(self._deployments):
            if at > 0:
                try:
                    self._plan = self._router.plan(deployment, self._request)
                except InvalidRequest:
                    continue  # it cannot honour the request; the failure before it stands
            try:
                self._answer(meter, put, caller_left)
            except GatewayError as error:
                failure = error
            else:
                self._rests.succeeded(deployment.vendor.name)
                return
            if not isinstance(failure, VendorRefused | VendorAuthentication | ShuttingDown):
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
        if not is_passing(failure) or time.monotonic() >= self._under_way.deadline_s:
            return False
        if self._put_any:
            if start_over is None:
                return False
            start_over()
            self._put_any = False
        return True

    def _answer(self, meter: Meter, put: Put, caller_left: Callable[[], bool] | None) -> None:
        """Have the current plan's deployment answer, in another way if its refusal names one."""
        for _ in range(LESSONS):
            try:
                self._run_parts(meter, put, caller_left)
            except VendorRefused as error:
                if self._put_any or not self._router.learn(self._plan, error):
                    raise
                self._plan = self._router.plan(self._plan.deployment, self._request)
            else:
                return
        self._run_parts(meter, put, caller_left)

    def _run_parts(self, meter: Meter, put: Put, caller_left: Callable[[], bool] | None) -> None:
        waiting, errors = deque(self._plan.parts), list[BaseException]()
        asking = Asking(self._plan, self._transport, meter, self._under_way, caller_left)

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


def _rested_last(deployments: Sequence[Deployment], rests: Rests) -> list[Deployment]:
    """Return the deployments that do not rest; all of them where none is left."""
    if len(deployments) == 1:
        return list(deployments)
    resting = rests.resting()
    awake = [deployment for deployment in deployments if deployment.vendor.name not in resting]
    return awake or list(deployments)


def _side_by_side(work: Callable[[], None], count: int) -> None:
    threads = [threading.Thread(target=work, name="vendor-call", daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
