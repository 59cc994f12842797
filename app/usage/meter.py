"""The meter of one request: it opens its record, counts its vendor calls, and records them once."""

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import orjson

from app.completion import USAGE_COUNTS, Completion, CompletionRequest, Usage
from app.errors import GatewayError, VendorFailed, VendorTimeout
from app.limits import Limits
from app.tracing import UNTRACED, Trace
from app.usage.accounting import Accounting
from app.usage.at_most import Candidate
from app.usage.call_usage import CallUsage
from app.usage.estimate import count_prompts, count_tokens, estimate
from app.usage.event import Source, Status, UsageEvent, clip_user, new_event_id, sides_of
from app.usage.limits import UNLIMITED


class Observer(Protocol):
    """Whoever looks on as requests are counted; may not raise."""

    def opened(self, *, stream: bool) -> None:
        """A request was admitted."""
        ...

    def recorded(self, event: UsageEvent) -> None:
        """One that was admitted has ended."""
        ...


class Unobserved:
    """Nobody looks on."""

    def opened(self, *, stream: bool) -> None:
        """Tell nobody."""

    def recorded(self, event: UsageEvent) -> None:
        """Tell nobody."""


NOBODY = Unobserved()


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


class CallMeter:
    """Counts one vendor call.

    The vendor's count always wins: the last that is not all zeros, since some vendors repeat it
    as a running total and some send zeros first. Without one, the text is counted, and marked.
    """

    def __init__(self, vendor: str, request: CompletionRequest) -> None:
        self.vendor = vendor
        self.vendor_request_id: str | None = None
        self.http_status: int | None = None
        #: The vendor's word for how it served the call, where it said one.
        self.service_tier: str | None = None
        #: Whether the vendor may have done paid work.
        self.billable = False
        self.model_served: str | None = None
        self.first_token_at_s: float | None = None
        self._request = request
        self._texts: defaultdict[int, list[str]] = defaultdict(list)
        self._reported: Usage | None = None
        self._counted_pieces: dict[int, int] = {}
        self._counted_tokens = 0

    @property
    def model_asked(self) -> str:
        """What the vendor was asked for, by its own name."""
        return self._request.model_name

    def observe(self, chunk: Completion) -> None:
        """Take note of a chunk, or of a whole answer."""
        if self.model_served is None or chunk.model != self._request.model_name:
            # Where a chunk names no model, it bears the name that was asked for.
            self.model_served = chunk.model
        if chunk.usage:
            self._reported = chunk.usage
        for choice in chunk.choices:
            if choice.text:
                if self.first_token_at_s is None:
                    self.first_token_at_s = time.monotonic()
                self._texts[choice.index].append(choice.text)

    def failed(self, error: GatewayError) -> None:
        """Take note of how the call failed."""
        if error.vendor_status is not None:  # else it failed after its status, or before
            self.http_status = error.vendor_status
        maybe = isinstance(error, VendorFailed | VendorTimeout)  # the others say: no work was done
        self.billable = error.billable or (self.billable and maybe)

    def progress(self) -> int:
        """Return the completion's tokens so far; counts only what is new since the last time."""
        if self._reported is not None:
            return self._reported.completion_tokens
        for index, pieces in tuple(self._texts.items()):
            known = self._counted_pieces.get(index, 0)
            new = pieces[known:]
            self._counted_pieces[index] = known + len(new)
            self._counted_tokens += count_tokens("".join(new))
        return self._counted_tokens

    @cached_property
    def settled(self) -> tuple[Usage, Source]:
        """The call's tokens and whose count they are; to be asked when the call is over."""
        if self._reported is not None:
            return self._reported, "vendor"
        if not self.billable and not self._texts:
            return Usage(), "none"
        texts = {index: "".join(pieces) for index, pieces in self._texts.items()}
        return estimate(self._request, texts), "estimated"


class Meter:
    """Counts one request: `open`, a `call` for each call that is made, then `record`, once.

    `candidates` are the deployments that may serve it; without any, the one that is asked for.
    """

    def __init__(
        self,
        accounting: Accounting,
        context: RequestContext,
        request: CompletionRequest,
        candidates: Sequence[Candidate] = (),
    ) -> None:
        self.candidates = candidates or (Candidate(request.vendor, request.model_name),)
        self._accounting = accounting
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
        call = CallMeter(vendor, request)
        self._calls.append(call)
        return call

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
        """How many calls have been made."""
        return len(self._calls)

    @property
    def usage(self) -> Usage:
        """The request's tokens, of all its calls; to be asked when they are over."""
        first, *rest = [call.settled[0] for call in self._calls] or [Usage()]
        return sum(rest, first)

    @property
    def source(self) -> Source:
        """Whose count it is: an estimate as soon as one call's is."""
        sources = {call.settled[1] for call in self._calls}
        return next((s for s in _BY_DOUBT if s in sources), "none")

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
        """Return the open record with how far the request has come, in tokens by our count."""
        return orjson.dumps(
            {
                **self._opening(),
                "owner": owner,
                "prompt_tokens": self._prompt_tokens,
                "completion_tokens": sum(call.progress() for call in tuple(self._calls)),
                "attempts": self.attempts,
                "duration_ms": self._since_start_ms(time.monotonic()),
            }
        )

    @cached_property
    def _prompt_tokens(self) -> int:
        return count_prompts(self._request)

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
        usage, source = self.usage, self.source
        last = self._calls[-1] if self._calls else CallMeter(self._request.vendor, self._request)
        first_tokens = [c.first_token_at_s for c in self._calls if c.first_token_at_s is not None]
        return UsageEvent(
            **self._opening(),
            vendor_served=last.vendor,
            model_served=last.model_served,
            service_tier=last.service_tier,
            status=status,
            source="drained" if drained and source == "vendor" else source,
            prompt_source=sides_of(source),
            completion_source=sides_of(source),
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
        used = [(call, usage) for call in self._calls if (usage := call.settled[0])]
        asked = (self._request.vendor, self._request.model_name)
        if not used or (used == [(last, used[0][1])] and asked == (last.vendor, last.model_asked)):
            return ()
        return tuple(
            CallUsage(c.vendor, c.model_asked, c.model_served, c.service_tier, usage)
            for c, usage in used
        )

    def _since_start_ms(self, at_s: float) -> int:
        return int((at_s - self._started_s) * 1000)


#: A request's calls may be counted in several ways: the least certain one is told.
_BY_DOUBT: tuple[Source, ...] = ("estimated", "vendor", "none")
