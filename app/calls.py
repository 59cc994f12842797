"""The vendor calls of one request: made side by side, again, or elsewhere, until it is answered.

Owns retries, failover, and the cutting of what is under way. Knows nothing of the caller but
whether it is still there.
"""

import dataclasses
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence

from app.completion import Completion, CompletionRequest
from app.errors import (
    GatewayError,
    InvalidRequest,
    ShuttingDown,
    VendorAuthentication,
    VendorRefused,
    WrongEndpoint,
)
from app.gateways.base import VendorRequest
from app.gateways.transport import Cancelled, Reason, Transport, VendorCall, deadline_after
from app.parts import Echo, Part, renumbered
from app.resting import Rests
from app.retrying import is_passing, pause_s
from app.routing import Deployment, Plan, Router
from app.usage.meter import CallMeter, Meter

#: Calls of one request that are under way at the same time.
SIDE_BY_SIDE = 8

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
        self._under_way: set[VendorCall] = set()
        self._ended = threading.Event()
        self._reason: Reason = "cancelled"
        self._deadline_s = time.monotonic() + self._plan.vendor.timeouts.total_s

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
        if not self._ended.is_set():
            self._reason = reason
            self._ended.set()
        for call in tuple(self._under_way):
            call.end(reason)

    _put_any = False

    def _may_go_on(self, failure: GatewayError, start_over: Callable[[], None] | None) -> bool:
        if not is_passing(failure) or time.monotonic() >= self._deadline_s:
            return False
        if self._put_any:
            if start_over is None:
                return False
            start_over()
            self._put_any = False
        return True

    def _answer(self, meter: Meter, put: Put, caller_left: Callable[[], bool] | None) -> None:
        """Have the current plan's deployment answer, on its other endpoint if it says so."""
        try:
            self._run_parts(meter, put, caller_left)
        except WrongEndpoint as error:
            if self._put_any or not self._router.learn(self._plan.deployment, error):
                raise
            self._plan = self._router.plan(self._plan.deployment, self._request)
            self._run_parts(meter, put, caller_left)

    def _run_parts(self, meter: Meter, put: Put, caller_left: Callable[[], bool] | None) -> None:
        waiting, errors = deque(self._plan.parts), list[BaseException]()

        def work() -> None:
            while not errors:
                try:
                    part, encoded = waiting.popleft()
                except IndexError:
                    return  # another thread has taken the last one
                try:
                    for chunk in self._tried(part, encoded, meter, caller_left):
                        self._put_any = True
                        put(chunk)
                except BaseException as exc:  # noqa: BLE001 - raised again below
                    errors.append(exc)
                    if len(self._plan.parts) > 1:
                        self._end_siblings()

        if len(waiting) == 1:
            work()
        else:
            _side_by_side(work, min(SIDE_BY_SIDE, len(waiting)))
        if errors:
            raise errors[0]

    def _end_siblings(self) -> None:
        for call in tuple(self._under_way):
            call.end("cancelled")

    def _tried(
        self,
        part: Part,
        encoded: VendorRequest,
        meter: Meter,
        caller_left: Callable[[], bool] | None,
    ) -> Iterator[Completion]:
        """Yield a part's chunks; calls again after a passing failure that came before any."""
        begun, attempt = False, 0
        while True:
            try:
                for chunk in self._called(part, encoded, meter, caller_left):
                    begun = True
                    yield chunk
            except GatewayError as error:
                pause = None if begun else self._pause_s(error, attempt)
                if pause is None or self._ended.wait(pause):
                    raise
                attempt += 1
            else:
                return

    def _pause_s(self, error: GatewayError, attempt: int) -> float | None:
        if attempt >= self._plan.vendor.retries or not is_passing(error):
            return None
        pause = pause_s(error, attempt)
        if pause is None or time.monotonic() + pause >= self._deadline_s:
            return None
        return pause

    def _called(
        self,
        part: Part,
        encoded: VendorRequest,
        meter: Meter,
        caller_left: Callable[[], bool] | None,
    ) -> Iterator[Completion]:
        """Make one call; yield its chunks, numbered as the whole request's."""
        vendor = self._plan.vendor
        counted = meter.call(vendor.name, part.request)
        trace = meter.trace.call(vendor.name, part.request.model_name)
        if trace.headers:
            headers = {**encoded.headers, **trace.headers}
            encoded = dataclasses.replace(encoded, headers=headers)
        echo = self._echo(part)
        with self._transport.call(vendor, encoded, caller_left) as call:
            self._under_way.add(call)
            try:
                for chunk in self._chunks(call, part.request, counted):
                    counted.observe(chunk)
                    yield renumbered(echo.apply(chunk) if echo else chunk, part.offset)
            except GatewayError as error:
                counted.failed(error)
                raise
            except BaseException:  # cut before the vendor's status, when it may have begun to work
                if call.sent and counted.http_status is None:
                    counted.billable = True
                raise
            finally:
                self._under_way.discard(call)
                trace.end(counted.http_status)

    def _echo(self, part: Part) -> Echo | None:
        prompt = part.request.prompt
        wanted = self._request.echo and self._plan.is_chat and isinstance(prompt, str)
        return Echo(str(prompt)) if wanted else None

    def _chunks(
        self, call: VendorCall, request: CompletionRequest, counted: CallMeter
    ) -> Iterator[Completion]:
        vendor, gateway = self._plan.vendor, self._plan.gateway
        started_s = time.monotonic()
        if request.stream:
            call.deadline_s = deadline_after(vendor.timeouts, started_s, started_s, first=True)
        if self._ended.is_set():
            raise ShuttingDown if self._reason == "shutdown" else Cancelled
        call.send()
        counted.http_status = call.status
        counted.vendor_request_id = _request_id(call)
        if not call.is_success:
            raise gateway.decode_error(vendor, call.status, call.headers, call.error_body())
        counted.billable = True
        if not request.stream or _is_json(call):
            # In a stream: an error in disguise, or a vendor that does not stream.
            yield gateway.decode(vendor, request, call.body())
            return
        decoder = gateway.stream_decoder(vendor, request)
        for packet in call.packets():
            for chunk in decoder.feed(packet):
                now_s = time.monotonic()
                call.deadline_s = deadline_after(vendor.timeouts, started_s, now_s, first=False)
                yield chunk
        yield from decoder.close()


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


def _is_json(call: VendorCall) -> bool:
    return call.headers.get("content-type", "").startswith("application/json")


#: Where vendors put the id of a request, for asking them about it.
REQUEST_ID_HEADERS = ("x-request-id", "request-id", "apim-request-id", "x-amzn-requestid")


def _request_id(call: VendorCall) -> str | None:
    found = next((v for name in REQUEST_ID_HEADERS if (v := call.headers.get(name))), None)
    return found[:128] if found and found.isprintable() else None
