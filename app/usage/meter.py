"""The meter of one request: it opens its record, counts its vendor calls, and records them once."""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

from app.admission.at_most import CostCandidate
from app.admission.limiter import UNLIMITED
from app.tracing.trace_context import UNTRACED, Trace
from app.usage.call_meter import CallMeter, Counted, least_certain
from app.usage.call_usage import CallUsage
from app.usage.estimate import count_prompts
from app.usage.event import SideSource, Status, UsageEvent, clip_user, new_event_id
from app.usage.recorder import Recorder
from app.vocabulary.completion import USAGE_COUNTS, CompletionRequest, Usage
from app.vocabulary.limits import Limits


class Observer(Protocol):
    """Whoever looks on as requests are counted; may not raise."""

    def opened(self, *, stream: bool) -> None:
        """A request was admitted."""
        ...

    def recorded(self, event: UsageEvent) -> None:
        """One that was admitted has ended."""
        ...

    def surplus(self, vendor: str, choices: int) -> None:
        """A vendor sent choices that were not asked for, or that nobody can place."""
        ...

    def unknown_reason(self, vendor: str, word: str) -> None:
        """A vendor ended a choice with a word that nobody knows."""
        ...


class Unobserved:
    """Nobody looks on."""

    def opened(self, *, stream: bool) -> None:
        """Tell nobody."""

    def recorded(self, event: UsageEvent) -> None:
        """Tell nobody."""

    def surplus(self, vendor: str, choices: int) -> None:
        """Tell nobody."""

    def unknown_reason(self, vendor: str, word: str) -> None:
        """Tell nobody."""


NOBODY = Unobserved()

#: What a finish reason looks like, and a sentence does not.
_WORD = re.compile(r"[A-Za-z][\w.:/-]*", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestContext:
    """Who asks, and how: what an event says of a request beyond its body; and who looks on."""

    request_id: str
    account_id: str
    api_key_id: str
    client_retry_count: int = 0
    limits: Sequence[Limits] = ()
    trace: Trace = UNTRACED
    observer: Observer = NOBODY


class Meter:
    """Counts one request: `open`, a `call` for each call that is made, then `record`, once.

    `candidates` are the deployments that may serve it; without any, the one that is asked for.
    """

    def __init__(
        self,
        recorder: Recorder,
        context: RequestContext,
        request: CompletionRequest,
        candidates: Sequence[CostCandidate] = (),
    ) -> None:
        self.candidates = candidates or (CostCandidate(request.vendor, request.model_name),)
        self._accounting = recorder
        self._context = context
        self._request = request
        self._started_s = time.monotonic()
        self.started_at_ms = time.time_ns() // 1_000_000
        self._calls: list[CallMeter] = []
        self._recorded = False
        self._admission = UNLIMITED
        self.event_id = new_event_id(self.started_at_ms)

    def open(self) -> None:
        """Have the request written down, before the vendor is called.

        Raises: LimitReached, StreamUnavailable, and then the vendor must not be called.
        """
        self._admission = self._accounting.open(self)
        self._context.observer.opened(stream=self._request.stream)

    def call(self, vendor: str, request: CompletionRequest) -> CallMeter:
        """Begin to count one more call; `request` is the part of the whole that it makes."""
        news = self._note if request.stream else None
        call = CallMeter(vendor, request, news)
        self._calls.append(call)
        return call

    def _note(self) -> None:
        self._accounting.note(self)

    def surplus(self, vendor: str, choices: int) -> None:
        """Have choices that were not asked for be counted, if there are any."""
        if choices:
            self._context.observer.surplus(vendor, choices)

    def unknown_reason(self, vendor: str, word: str) -> None:
        """Have a finish reason that nobody knows be counted; what is no word may be an answer's."""
        self._context.observer.unknown_reason(vendor, word if _WORD.fullmatch(word) else "other")

    @property
    def trace(self) -> Trace:
        """The trace that the request belongs to."""
        return self._context.trace

    @property
    def request(self) -> CompletionRequest:
        """What is asked for."""
        return self._request

    @property
    def limits(self) -> Sequence[Limits]:
        """What the request must fit in."""
        return self._context.limits

    @property
    def limit_headers(self) -> Mapping[str, str]:
        """What tells the caller how much of its limits is left, once the request is open."""
        return self._admission.headers

    @property
    def attempts(self) -> int:
        """How many calls have been made: sent, or tried in vain."""
        return sum(not call.was_skipped for call in self._calls)

    @property
    def usage(self) -> Usage:
        """The request's tokens, of all its calls; to be asked when they are over."""
        return self._counted.usage

    @property
    def source(self) -> SideSource:
        """Whose count it is: an estimate as soon as one side of one call's is."""
        return self._counted.source

    @property
    def _counted(self) -> Counted:
        return _summed([call.settled for call in self._calls])

    def record(self, status: Status, *, drained: bool = False) -> None:
        """Publish the event; a second call does nothing. Never raises: the answer comes first."""
        if self._recorded:
            return
        self._recorded = True
        event = self._event(status, drained=drained)
        self._accounting.publish(event)
        self._context.observer.recorded(event)

    def record_of_opening(self, owner: str) -> bytes:
        """Return the open record: what is known before the vendor is called."""
        chars = sum(len(prompt) for prompt in self._request.prompts)
        return orjson.dumps({**self._opening(), "owner": owner, "prompt_chars": chars})

    def checkpoint(self, owner: str) -> bytes:
        """Return the open record with how far the request has come, by whoever has counted it."""
        counted = _summed([call.so_far() for call in tuple(self._calls)])
        usage = counted.usage if self._calls else Usage(prompt_tokens=count_prompts(self._request))
        return orjson.dumps(
            {
                **self._opening(),
                "owner": owner,
                **{name: count for name in USAGE_COUNTS if (count := getattr(usage, name))},
                "prompt_tokens": usage.prompt_tokens,
                "completion_tokens": usage.completion_tokens,
                "prompt_source": counted.prompt_source,
                "completion_source": counted.completion_source,
                "service_tier": next((c.service_tier for c in self._calls[::-1]), None),
                "attempts": self.attempts,
                "duration_ms": self._since_start_ms(time.monotonic()),
            }
        )

    def _opening(self) -> dict[str, Any]:
        """Return what is known before the vendor is called: fields of the event to come."""
        request, context = self._request, self._context
        return {
            "event_id": self.event_id,
            "request_id": context.request_id,
            "account_id": context.account_id,
            "api_key_id": context.api_key_id,
            "user": clip_user(request.user),
            "vendor": request.vendor,
            "model": request.model_name,
            "stream": request.stream,
            "client_retry_count": context.client_retry_count,
            "started_at_ms": self.started_at_ms,
        }

    def _event(self, status: Status, *, drained: bool) -> UsageEvent:
        counted = self._counted
        usage, source = counted.usage, counted.source
        last = self._calls[-1] if self._calls else CallMeter(self._request.vendor, self._request)
        first_tokens = [c.first_token_at_s for c in self._calls if c.first_token_at_s is not None]
        return UsageEvent(
            **self._opening(),
            vendor_served=last.vendor,
            model_served=last.model_served,
            service_tier=last.service_tier,
            status=status,
            source="drained" if drained and source == "vendor" else source,
            prompt_source=counted.prompt_source,
            completion_source=counted.completion_source,
            **{name: getattr(usage, name) for name in USAGE_COUNTS},
            vendor_request_id=last.vendor_request_id,
            http_status=last.http_status,
            attempts=self.attempts,
            first_token_ms=self._since_start_ms(min(first_tokens)) if first_tokens else None,
            duration_ms=self._since_start_ms(time.monotonic()),
            calls=self._told_calls(last),
        )

    def _told_calls(self, last: CallMeter) -> tuple[CallUsage, ...]:
        """Return the calls that used tokens, unless the event says all of the only one."""
        used = [(call, usage) for call in self._calls if (usage := call.settled.usage)]
        request = self._request
        is_asked = (last.vendor, last.model_asked) == (request.vendor, request.model_name)
        if not used or (is_asked and len(used) == 1 and used[0][0] is last):
            return ()
        return tuple(
            CallUsage(c.vendor, c.model_asked, c.model_served, c.service_tier, usage)
            for c, usage in used
        )

    def _since_start_ms(self, at_s: float) -> int:
        return int((at_s - self._started_s) * 1000)


def _summed(calls: Sequence[Counted]) -> Counted:
    """Return what several calls have used together."""
    if len(calls) == 1:
        return calls[0]
    return Counted(
        sum((call.usage for call in calls), Usage()),
        least_certain(call.prompt_source for call in calls),
        least_certain(call.completion_source for call in calls),
    )
