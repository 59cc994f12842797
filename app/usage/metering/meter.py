"""Counts one request: opens its record, counts its vendor calls, and records them as one event."""

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

from app.admission.at_most import CostCandidate
from app.admission.limiter import Admission, AdmissionRequest
from app.pricing.price_book import PriceBook
from app.tracing.trace_context import Trace
from app.usage.cost import NO_COST, Cost, cost_of_calls
from app.usage.messages.call_usage import CallUsage
from app.usage.messages.event import SideSource, UsageEvent
from app.usage.messages.event_id import new_event_id
from app.usage.messages.open_record import OpenRecord
from app.usage.messages.stored_text import clip_or_none
from app.usage.metering.attempt_log import attempt_log, error_code, error_message
from app.usage.metering.call_meter import CallMeter, Counted, sum_of
from app.usage.metering.estimate import count_prompts
from app.usage.metering.request_context import RequestContext
from app.usage.recording.live_request import LiveRequest
from app.usage.recording.recorder import Recorder
from app.vocabulary.completion import USAGE_COUNTS, Usage
from app.vocabulary.request import GenerationRequest
from app.vocabulary.statuses import Status

#: What a finish reason looks like, unlike a sentence.
_WORD = re.compile(r"[A-Za-z][\w.:/-]*", re.ASCII)

#: Counts that a checkpoint holds beyond both sides; their total is computed from the sides.
_DETAILS = tuple(
    name
    for name in USAGE_COUNTS
    if name not in ("prompt_tokens", "completion_tokens", "total_tokens")
)


class Meter:
    """Counts one request: `open`, a `call` for each vendor call, then `record`, once.

    `candidates` are the vendor entries that may serve the request, and `model` is the model's name
    in the ledger; by default, both are the requested ones.
    """

    def __init__(
        self,
        recorder: Recorder,
        context: RequestContext,
        request: GenerationRequest,
        candidates: Sequence[CostCandidate] = (),
        model: str | None = None,
    ) -> None:
        self._model = request.model_name if model is None else model
        self._candidates = candidates or (CostCandidate(request.vendor, self._model),)
        self._recorder = recorder
        self._context = context
        self._request = request
        self._started_s = time.monotonic()
        self.started_at_ms = time.time_ns() // 1_000_000
        self._calls: list[CallMeter] = []
        self._recorded = False
        self._cost: Cost | None = None
        self._admission = Admission()
        self.event_id = new_event_id(self.started_at_ms)
        self._identity = self._identified()

    def open(self) -> None:
        """Have the request admitted and its record written, before the vendor is called.

        Raises: LimitReached, StreamUnavailable; then the vendor must not be called.
        """
        live = LiveRequest(self.admission_request, self.checkpoint, lambda: self._cost)
        self._admission = self._recorder.open(live, self.opening())
        self._context.observer.opened(stream=self._request.stream)

    def call(self, vendor: str, request: GenerationRequest, model: str | None = None) -> CallMeter:
        """Start to count one more call; `request` is the sub-request, and `model` as above."""
        note = self._recorder.note
        on_count = (lambda: note(self.event_id)) if request.stream else None
        self._calls.append(call := CallMeter(vendor, request, on_count, model))
        return call

    def surplus(self, vendor: str, choices: int) -> None:
        """Report `choices` that were not requested, unless there are none."""
        if choices:
            self._context.observer.surplus(vendor, choices)

    def unknown_reason(self, vendor: str, word: str) -> None:
        """Report an unknown finish reason; one that is not a word may be text of the response."""
        self._context.observer.unknown_reason(vendor, word if _WORD.fullmatch(word) else "other")

    @property
    def trace(self) -> Trace:
        """The trace that the request belongs to."""
        return self._context.trace

    @property
    def request(self) -> GenerationRequest:
        """The request that is counted."""
        return self._request

    @property
    def admission_request(self) -> AdmissionRequest:
        """What decides whether the request is admitted."""
        limits, candidates = self._context.limits, self._candidates
        return AdmissionRequest(
            self.event_id, self.started_at_ms, limits, self._request, candidates
        )

    @property
    def limit_headers(self) -> Mapping[str, str]:
        """Response headers that tell what is left of the limits; empty until the request is open.

        Also empty if nothing is limited.
        """
        return self._admission.headers

    @property
    def attempts(self) -> int:
        """Number of calls that were made, including failed ones."""
        return len(self.vendors_called)

    @property
    def vendors_called(self) -> list[str]:
        """The vendor entry of each call that was made, in their order."""
        return [call.vendor for call in self._calls if not call.was_skipped]

    @property
    def usage(self) -> Usage:
        """The tokens of all calls; to be read when they are over."""
        return self._counted.usage

    @property
    def source(self) -> SideSource:
        """Who counted the tokens: an estimate if one side of one call is estimated."""
        return self._counted.source

    @property
    def _counted(self) -> Counted:
        return sum_of([call.final for call in self._calls])

    def cost(self, prices: PriceBook) -> int | None:
        """Return what all calls cost in nano-dollars, as the ledger computes it from the event.

        None if nothing was used, or a price is unknown. To be read when the calls are over.
        """
        used = [served for call in self._calls if (served := call.served) is not None]
        self._cost = cost_of_calls(used, prices, self.started_at_ms) if used else NO_COST
        return self._cost.nanousd

    def record(
        self, status: Status, error: BaseException | None = None, *, read_to_end: bool = False
    ) -> None:
        """Publish the event; a second call does nothing. Never raises.

        `error` is what the request failed with. `read_to_end`: the vendor's response was read to
        the end after the client disconnected.
        """
        if self._recorded:
            return
        self._recorded = True
        event = self._event(status, error, read_to_end=read_to_end)
        self._recorder.publish(event)
        self._context.observer.recorded(event)

    def opening(self) -> OpenRecord:
        """Return the open record: what is known before the vendor is called."""
        chars = sum(prompt.length for prompt in self._request.inputs)
        return OpenRecord(**self._identity, owner=self._recorder.owner, prompt_chars=chars)

    def checkpoint(self) -> OpenRecord:
        """Return the open record with what the request has used by now."""
        counted = sum_of([call.so_far() for call in tuple(self._calls)])
        usage = counted.usage if self._calls else Usage(prompt_tokens=count_prompts(self._request))
        return OpenRecord(
            **self._identity,
            owner=self._recorder.owner,
            number=self._admission.number,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            **{name: getattr(usage, name) for name in _DETAILS},
            prompt_source=counted.prompt_source,
            completion_source=counted.completion_source,
            service_tier=next((call.service_tier for call in self._calls[::-1]), None),
            attempts=self.attempts,
            duration_ms=self._since_start_ms(time.monotonic()),
        )

    def _identified(self) -> dict[str, Any]:
        """Return the fields that the open record and the event have in common."""
        request, context = self._request, self._context
        return {
            "event_id": self.event_id,
            "request_id": context.request_id,
            "account_id": context.account_id,
            "api_key_id": context.api_key_id,
            "user": clip_or_none(request.user),
            "endpoint": request.endpoint,
            "vendor": request.vendor,
            "model": self._model,
            "stream": request.stream,
            "client_retry_count": context.client_retry_count,
            "started_at_ms": self.started_at_ms,
        }

    def _event(
        self, status: Status, error: BaseException | None, *, read_to_end: bool
    ) -> UsageEvent:
        counted = self._counted
        usage, source = counted.usage, counted.source
        counts: dict[str, Any] = usage.counts()
        last = self._calls[-1] if self._calls else CallMeter(self._request.vendor, self._request)
        first_tokens = [c.first_token_at_s for c in self._calls if c.first_token_at_s is not None]
        return UsageEvent(
            **self._identity,
            process=self._recorder.owner,
            number=self._admission.number,
            vendor_served=last.vendor,
            model_served=last.model_served,
            service_tier=last.service_tier,
            status=status,
            source="read" if read_to_end and source == "vendor" else source,
            prompt_source=counted.prompt_source,
            completion_source=counted.completion_source,
            **counts,
            vendor_request_id=last.vendor_request_id,
            http_status=last.http_status,
            attempts=self.attempts,
            first_token_ms=self._since_start_ms(min(first_tokens)) if first_tokens else None,
            duration_ms=self._since_start_ms(time.monotonic()),
            error_code=error_code(error),
            error_message=error_message(error, self._request),
            attempt_log=attempt_log(self._calls, self._request, self._started_s),
            calls=self._call_usages(last),
        )

    def _call_usages(self, last: CallMeter) -> tuple[CallUsage, ...]:
        """Return the calls that used tokens; none if the event's fields describe the only one."""
        used = [(call, usage) for call in self._calls if (usage := call.final.usage)]
        is_requested = (last.vendor, last.model_asked) == (self._request.vendor, self._model)
        if not used or (is_requested and len(used) == 1 and used[0][0] is last):
            return ()
        return tuple(
            CallUsage.of(c.vendor, c.model_asked, c.model_served, c.service_tier, usage)
            for c, usage in used
        )

    def _since_start_ms(self, at_s: float) -> int:
        return int((at_s - self._started_s) * 1000)
