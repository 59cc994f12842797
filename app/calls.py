"""The vendor calls of one request: made side by side, again, or elsewhere, until it is answered.

Owns retries, failover, and the cutting of what is under way. Knows nothing of the caller but
whether it is still there.
"""

import dataclasses
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence

from app.completion import Completion, CompletionRequest
from app.deadline import Deadline
from app.errors import (
    GatewayError,
    InvalidRequest,
    ShuttingDown,
    VendorAuthentication,
    VendorFailed,
    VendorRefused,
    VendorTimeout,
)
from app.gateways.answers import failed
from app.gateways.base import VendorRequest
from app.gateways.reader import AnswerReader
from app.gateways.transport import Cancelled, Reason, Transport, VendorCall
from app.parts import Echo, Part
from app.resting import Rests
from app.retrying import is_passing, pause_s
from app.routing import Deployment, Plan, Router
from app.usage.call_meter import CallMeter
from app.usage.meter import Meter

#: Calls of one request that are under way at the same time.
SIDE_BY_SIDE = 8

#: How often choices that a vendor left out are asked for again.
ASKED_AGAIN = 2

#: How many refusals of one request may each teach us another way to ask.
LESSONS = 2

#: How long the other calls of a request may go on when one has failed, in seconds.
SIBLINGS_S = 2.0

#: Statuses from here on are failures after the request was taken.
SERVER_ERRORS = 500


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

        def work() -> None:
            while not errors:
                try:
                    part, encoded = waiting.popleft()
                except IndexError:
                    return  # another thread has taken the last one
                try:
                    for chunk in self._answered(part, encoded, meter, caller_left):
                        self._put_any = True
                        put(chunk)
                except BaseException as exc:  # noqa: BLE001 - raised again below
                    errors.append(exc)
                    self._hurry_siblings(exc)

        self._limit_s = math.inf
        if len(waiting) == 1:
            work()
        else:
            _side_by_side(work, min(SIDE_BY_SIDE, len(waiting)))
        if errors:
            raise errors[0]

    _limit_s = math.inf

    def _hurry_siblings(self, cause: BaseException) -> None:
        """Give the other calls a moment, when one has failed, to say what they cost.

        Those that were sent may be paid for: a status or an answer that is on its way tells.
        """
        if not isinstance(cause, GatewayError) or isinstance(cause, ShuttingDown):
            for call in tuple(self._under_way):
                call.end("cancelled")
            return
        self._limit_s = min(self._limit_s, time.monotonic() + SIBLINGS_S)
        for call in tuple(self._under_way):
            call.deadline_s = min(call.deadline_s, self._limit_s)

    def _answered(
        self,
        part: Part,
        encoded: VendorRequest,
        meter: Meter,
        caller_left: Callable[[], bool] | None,
    ) -> Iterator[Completion]:
        """Yield a part's chunks, with those of the choices that had to be asked for again.

        Raises: GatewayError, also when some are missing in the end.
        """
        missing = yield from self._asked(part, encoded, meter, caller_left, ASKED_AGAIN)
        if missing:
            count = part.request.choice_count
            raise failed(self._plan.vendor, f"sent {count - missing} of {count} choices")

    def _asked(
        self,
        part: Part,
        encoded: VendorRequest,
        meter: Meter,
        caller_left: Callable[[], bool] | None,
        rounds: int,
    ) -> Generator[Completion, None, int]:
        """Yield a part's chunks; return how many of its choices are missing after `rounds` more."""
        missing = yield from self._tried(part, encoded, meter, caller_left)
        if not missing or not rounds or time.monotonic() >= min(self._deadline_s, self._limit_s):
            return len(missing)
        left = 0
        for again in part.again(missing):
            encoded = self._plan.gateway.encode(self._plan.vendor, again.request)
            chunks = self._asked(again, encoded, meter, caller_left, rounds - 1)
            left += yield from _or_missing(chunks, again.request.choice_count)
        return left

    def _tried(
        self,
        part: Part,
        encoded: VendorRequest,
        meter: Meter,
        caller_left: Callable[[], bool] | None,
    ) -> Generator[Completion, None, list[int]]:
        """Yield a part's chunks; calls again after a passing failure that came before any.

        Returns the choices that did not come.
        """
        begun, attempt = False, 0
        while True:
            try:
                chunks = self._called(part, encoded, meter, caller_left)
                while True:
                    try:
                        chunk = next(chunks)
                    except StopIteration as stop:
                        missing: list[int] = stop.value
                        return missing
                    begun = True
                    yield chunk
            except GatewayError as error:
                pause = None if begun else self._pause_s(error, attempt)
                if pause is None or self._ended.wait(pause):
                    raise
                attempt += 1

    def _pause_s(self, error: GatewayError, attempt: int) -> float | None:
        if attempt >= self._plan.vendor.retries or not is_passing(error):
            return None
        pause = pause_s(error, attempt)
        if pause is None or time.monotonic() + pause >= min(self._deadline_s, self._limit_s):
            return None
        return pause

    def _called(
        self,
        part: Part,
        encoded: VendorRequest,
        meter: Meter,
        caller_left: Callable[[], bool] | None,
    ) -> Generator[Completion, None, list[int]]:
        """Make one call; yield its chunks, numbered as the whole request's.

        Returns the part's choices that did not come.
        """
        vendor = self._plan.vendor
        counted = meter.call(vendor.name, part.request)
        trace = meter.trace.call(vendor.name, part.request.model_name)
        if trace.headers:
            headers = {**encoded.headers, **trace.headers}
            encoded = dataclasses.replace(encoded, headers=headers)
        echo = self._echo(part)
        reader = self._plan.gateway.reader(vendor, part.request)
        with self._transport.call(vendor, encoded, caller_left) as call:
            self._under_way.add(call)
            try:
                for chunk in self._chunks(call, part.request, reader, counted):
                    counted.observe(chunk)
                    self._note_words(chunk, meter)
                    if chunk.choices or chunk.usage is None:
                        yield part.renumbered(echo.apply(chunk) if echo else chunk)
            except GatewayError as error:
                counted.failed(error)
                raise
            except BaseException:  # cut before the vendor's status, when it may have begun to work
                counted.was_skipped = not call.sent
                if call.sent and counted.http_status is None:
                    counted.billable = True
                raise
            else:
                counted.is_whole = True
            finally:
                self._under_way.discard(call)
                meter.surplus(vendor.name, reader.surplus)
                trace.end(counted.http_status)
        return reader.missing

    def _note_words(self, chunk: Completion, meter: Meter) -> None:
        for choice in chunk.choices:
            if choice.native_finish_reason is not None:
                meter.unknown_reason(self._plan.vendor.name, choice.native_finish_reason)

    def _echo(self, part: Part) -> Echo | None:
        prompt = part.request.prompt
        wanted = self._request.echo and self._plan.is_chat and isinstance(prompt, str)
        return Echo(str(prompt)) if wanted else None

    def _chunks(
        self,
        call: VendorCall,
        request: CompletionRequest,
        reader: AnswerReader,
        counted: CallMeter,
    ) -> Iterator[Completion]:
        vendor = self._plan.vendor
        deadline = Deadline(vendor.timeouts, time.monotonic(), streamed=request.stream)
        call.deadline_s = min(deadline.at_s, self._limit_s)
        if self._ended.is_set():
            raise ShuttingDown if self._reason == "shutdown" else Cancelled
        call.send()
        counted.http_status = call.status
        counted.vendor_request_id = _request_id(call)
        if not call.is_success:
            raise self._refused(call, reader, counted)
        counted.billable = True
        broken: GatewayError | None = None
        try:
            yield from self._received(call, reader, deadline)
        except (VendorFailed, VendorTimeout) as exc:  # the answer may be whole all the same
            broken = exc
        yield from reader.close(broken)

    def _refused(self, call: VendorCall, reader: AnswerReader, counted: CallMeter) -> GatewayError:
        """Return the error of a response that is no success; a failure may have been counted."""
        body = call.error_body()
        error = self._plan.gateway.decode_error(self._plan.vendor, call.status, call.headers, body)
        if call.status >= SERVER_ERRORS and (usage := reader.usage_in(body)):
            counted.observe(Completion("", 0, self._request.model_name, (), usage))
            error.billable = True  # and so is not made again
        return error

    def _received(
        self, call: VendorCall, reader: AnswerReader, deadline: Deadline
    ) -> Iterator[Completion]:
        """Yield an answer's chunks as its packets arrive, until it ends or keeps us waiting."""
        has_ended = False
        for packet in call.packets():
            call.deadline_s = math.inf  # until we wait for the vendor again
            arrived_s, any_chunk = time.monotonic(), False
            for chunk in reader.feed(packet):
                any_chunk = True
                yield chunk
            now_s = time.monotonic()
            deadline.received(arrived_s, now_s, any_chunk=any_chunk)
            if reader.is_whole:
                deadline.settle(now_s, again=any_chunk and not reader.is_over)
            else:
                deadline.unsettle()
            if reader.has_ended and not has_ended:
                has_ended = True
                self._choices_ended += reader.count
            call.deadline_s = min(deadline.at_s, self._limit_s)

    _choices_ended = 0

    @property
    def has_generated(self) -> bool:
        """Whether the vendors have said of every choice that it has ended."""
        return self._choices_ended >= self._request.choice_count


def _or_missing(
    chunks: Generator[Completion, None, int], count: int
) -> Generator[Completion, None, int]:
    """Yield chunks; return how many choices are missing: all `count`, if there was but a failure.

    What is missing is the failure that there was before it.
    """
    begun = False
    try:
        while True:
            chunk = next(chunks)
            begun = begun or bool(chunk.choices)
            yield chunk
    except StopIteration as stop:
        missing: int = stop.value
        return missing
    except ShuttingDown:
        raise
    except GatewayError:
        if begun:
            raise
        return count


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


#: Where vendors put the id of a request, for asking them about it.
REQUEST_ID_HEADERS = ("x-request-id", "request-id", "apim-request-id", "x-amzn-requestid")


def _request_id(call: VendorCall) -> str | None:
    found = next((v for name in REQUEST_ID_HEADERS if (v := call.headers.get(name))), None)
    return found[:128] if found and found.isprintable() else None
