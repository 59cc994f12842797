"""One vendor call: sent, read, counted, and traced."""

import dataclasses
import math
import time
from collections.abc import Callable, Generator, Iterator

from app.serving.deadline import Deadline
from app.serving.fan_out import Echo, SubRequest
from app.serving.routing import Plan
from app.serving.siblings import UnderWay
from app.transport.call import Transport, VendorCall
from app.usage.meter import Meter
from app.vocabulary.completion import Completion
from app.vocabulary.errors import GatewayError, VendorFailed, VendorTimeout
from app.vocabulary.vendor_request import VendorRequest

#: Statuses from here on are failures after the request was taken.
SERVER_ERRORS = 500

#: Where vendors put the id of a request, for asking them about it.
REQUEST_ID_HEADERS = ("x-request-id", "request-id", "apim-request-id", "x-amzn-requestid")


class Attempt:
    """One call of one part of a request; `has_begun` once it has yielded a chunk."""

    def __init__(self, plan: Plan, part: SubRequest, meter: Meter, under_way: UnderWay) -> None:
        self._plan = plan
        self._part = part
        self._meter = meter
        self._under_way = under_way
        self._counted = meter.call(plan.vendor.name, part.request)
        self._reader = plan.gateway.reader(plan.vendor, part.request)
        self.has_begun = False

    def chunks(
        self,
        transport: Transport,
        encoded: VendorRequest,
        client_disconnected: Callable[[], bool] | None,
    ) -> Generator[Completion, None, list[int]]:
        """Make the call; yield its chunks, numbered as the whole request's.

        Returns the part's choices that did not come.
        Raises: GatewayError; Cancelled.
        """
        vendor, counted, part = self._plan.vendor, self._counted, self._part
        trace = self._meter.trace.call(vendor.name, part.request.model_name)
        if trace.headers:
            headers = {**encoded.headers, **trace.headers}
            encoded = dataclasses.replace(encoded, headers=headers)
        echo = self._echo()
        with transport.call(vendor, encoded, client_disconnected) as call:
            self._under_way.add(call)
            try:
                for chunk in self._answered(call):
                    counted.observe(chunk)
                    self._note_words(chunk)
                    if chunk.choices or chunk.usage is None:
                        self.has_begun = True
                        yield part.renumber(echo.apply(chunk) if echo else chunk)
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
                self._meter.surplus(vendor.name, self._reader.surplus)
                trace.end(counted.http_status)
        return self._reader.missing

    def _answered(self, call: VendorCall) -> Iterator[Completion]:
        timeouts, streamed = self._plan.vendor.timeouts, self._part.request.stream
        deadline = Deadline(timeouts, time.monotonic(), streamed=streamed)
        call.deadline_s = min(deadline.at_s, self._under_way.limit_s)
        self._under_way.raise_if_ended()
        call.send()
        counted = self._counted
        counted.http_status = call.status
        counted.vendor_request_id = _request_id(call)
        if not call.is_success:
            raise self._refused(call)
        counted.billable = True
        broken: GatewayError | None = None
        try:
            yield from self._received(call, deadline)
        except (VendorFailed, VendorTimeout) as exc:  # the answer may be whole all the same
            broken = exc
        yield from self._reader.close(broken)

    def _received(self, call: VendorCall, deadline: Deadline) -> Iterator[Completion]:
        """Yield an answer's chunks as its packets arrive, until it ends or keeps us waiting."""
        reader, has_ended = self._reader, False
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
                self._under_way.choices_ended += reader.count
            call.deadline_s = min(deadline.at_s, self._under_way.limit_s)

    def _refused(self, call: VendorCall) -> GatewayError:
        """Return the error of a response that is no success; a failure may have been counted."""
        body = call.error_body()
        error = self._plan.gateway.decode_error(self._plan.vendor, call.status, call.headers, body)
        if call.status >= SERVER_ERRORS and (usage := self._reader.usage_in(body)):
            self._counted.observe(Completion("", 0, self._counted.model_asked, (), usage))
            error.billable = True  # and so is not made again
        return error

    def _note_words(self, chunk: Completion) -> None:
        for choice in chunk.choices:
            if choice.native_finish_reason is not None:
                self._meter.unknown_reason(self._plan.vendor.name, choice.native_finish_reason)

    def _echo(self) -> Echo | None:
        prompt = self._part.request.prompt
        wanted = self._meter.request.echo and self._plan.is_chat and isinstance(prompt, str)
        return Echo(str(prompt)) if wanted else None


def _request_id(call: VendorCall) -> str | None:
    found = next((v for name in REQUEST_ID_HEADERS if (v := call.headers.get(name))), None)
    return found[:128] if found and found.isprintable() else None
