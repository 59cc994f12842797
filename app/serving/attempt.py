"""One vendor call: sends the request, decodes the response, counts and traces both."""

import dataclasses
import math
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from app.serving.deadline import Deadline
from app.serving.fan_out import Echo, SubRequest
from app.serving.in_flight import InFlightCalls
from app.serving.routing import Plan
from app.transport.call import Transport, VendorCall
from app.usage.metering.meter import Meter
from app.vocabulary.completion import Completion
from app.vocabulary.errors import GatewayError, VendorFailed, VendorTimeout
from app.vocabulary.vendor_request import VendorRequest

#: A status from here on means that the vendor accepted the request, then failed.
SERVER_ERRORS = 500

#: Headers in which vendors send their id of a request, which their support asks for.
REQUEST_ID_HEADERS = ("x-request-id", "request-id", "apim-request-id", "x-amzn-requestid")

Put = Callable[[Completion], None]


class CallContext(NamedTuple):
    """The objects that all vendor calls of one request share.

    A call is cancelled once `client_disconnected` returns True; None never cancels it.
    """

    transport: Transport
    meter: Meter
    in_flight: InFlightCalls
    client_disconnected: Callable[[], bool] | None


class Attempt:
    """One vendor call for one sub-request; `has_begun` once a chunk was put."""

    def __init__(self, context: CallContext, plan: Plan, sub_request: SubRequest) -> None:
        self._context = context
        self._plan = plan
        self._sub_request = sub_request
        request, vendor = sub_request.request, plan.vendor
        model = vendor.booked_name(request.model_name)
        self._counted = context.meter.call(vendor.name, request, model)
        self._reader = plan.gateway.reader(vendor, request)
        self._echo = self._prompt_echo()
        self.has_begun = False

    def run(self, encoded: VendorRequest, put: Put) -> list[int]:
        """Make the call, and `put` its chunks, numbered as the whole request's.

        Returns the indices of the sub-request's choices that the vendor did not send.
        Raises: GatewayError; Cancelled; whatever `put` raises.
        """
        context, counted, vendor = self._context, self._counted, self._plan.vendor
        trace = context.meter.trace.call(vendor.name, self._sub_request.request.model_name)
        encoded = _with_headers(encoded, trace.headers)
        with context.transport.call(vendor, encoded, context.client_disconnected) as call:
            context.in_flight.add(call)
            try:
                self._exchange(call, put)
            except GatewayError as error:
                counted.failed(error)
                raise
            except BaseException:  # cancelled: before a status, the vendor may have begun to work
                counted.was_skipped = not call.sent
                if call.sent and counted.http_status is None:
                    counted.billable = True
                raise
            else:
                counted.is_whole = True
            finally:
                counted.ended()
                context.in_flight.discard(call)
                context.meter.surplus(vendor.name, self._reader.surplus)
                trace.end(counted.http_status)
        return self._reader.missing

    def _exchange(self, call: VendorCall, put: Put) -> None:
        timeouts, streamed = self._plan.vendor.timeouts, self._sub_request.request.stream
        deadline = Deadline(timeouts, time.monotonic(), streamed=streamed)
        call.wait_until(deadline.at_s, self._context.in_flight.limit_s, deadline.limit)
        self._context.in_flight.raise_if_cancelled()
        call.send()
        counted = self._counted
        counted.http_status = call.status
        counted.vendor_request_id = _request_id(call.headers)
        if not call.is_success:
            raise self._error(call)
        counted.billable = True
        broken: GatewayError | None = None
        try:
            self._read(call, deadline, put)
        except (VendorFailed, VendorTimeout) as exc:  # the response may be complete nevertheless
            broken = exc
        for chunk in self._reader.close(broken):
            self._deliver(chunk, put)

    def _read(self, call: VendorCall, deadline: Deadline, put: Put) -> None:
        """Deliver the response's chunks as its packets arrive, until its end or a deadline."""
        reader, in_flight, has_ended = self._reader, self._context.in_flight, False
        for packet in call.packets():
            call.deadline_s = math.inf  # until we wait for the vendor again
            arrived_s, any_chunk = time.monotonic(), False
            for chunk in reader.feed(packet):
                any_chunk = True
                self._deliver(chunk, put)
            now_s = time.monotonic()
            deadline.received(arrived_s, now_s, any_chunk=any_chunk)
            if reader.is_whole:
                deadline.settle(now_s, again=any_chunk and not reader.is_over)
            else:
                deadline.unsettle()
            if reader.has_ended and not has_ended:
                has_ended = True
                in_flight.choices_ended += reader.count
            call.wait_until(deadline.at_s, in_flight.limit_s, deadline.limit)

    def _deliver(self, chunk: Completion, put: Put) -> None:
        self._counted.observe(chunk)
        for choice in chunk.choices:
            if choice.native_finish_reason is not None:
                self._context.meter.unknown_reason(
                    self._plan.vendor.name, choice.native_finish_reason
                )
        if chunk.choices or chunk.usage is None:
            self.has_begun = True
            put(self._sub_request.renumber(self._echo.apply(chunk) if self._echo else chunk))

    def _error(self, call: VendorCall) -> GatewayError:
        """Return the error of a response without success, after counting the usage in it."""
        body = call.error_body()
        error = self._plan.gateway.decode_error(self._plan.vendor, call.status, call.headers, body)
        if call.status >= SERVER_ERRORS and (usage := self._reader.usage_in(body)):
            self._counted.observe(Completion("", 0, self._counted.model_asked, (), usage))
            error.billable = True  # so it is not retried
        return error

    def _prompt_echo(self) -> Echo | None:
        if not (self._context.meter.request.echo and self._plan.is_bridged):
            return None
        return Echo("".join(self._sub_request.request.inputs[0].texts))


def _with_headers(encoded: VendorRequest, headers: Mapping[str, str]) -> VendorRequest:
    if not headers:
        return encoded
    return dataclasses.replace(encoded, headers={**encoded.headers, **headers})


def _request_id(headers: Mapping[str, str]) -> str | None:
    found = next((value for name in REQUEST_ID_HEADERS if (value := headers.get(name))), None)
    return found[:128] if found and found.isprintable() else None
