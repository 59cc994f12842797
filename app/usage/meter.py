"""The meter of one request: it opens its record, watches its chunks, and records its usage once."""

import logging
import time
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson

from app.completion import USAGE_COUNTS, Completion, CompletionRequest, Usage
from app.errors import GatewayError, StreamUnavailable, VendorFailed, VendorTimeout
from app.usage.estimate import estimate
from app.usage.event import Source, Status, UsageEvent, clip_user, new_event_id
from app.usage.stream import EventStream

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestContext:
    """Who asks, and how: what an event says of a request beyond its body."""

    request_id: str
    account_id: str
    api_key_id: str
    client_retry_count: int = 0


class Meter:
    """Counts one request. `open`, then `observe` each chunk, then `record`, which acts once.

    The vendor's count always wins: the last that is not all zeros, since some vendors repeat it
    as a running total and some send zeros first. Without one, the text is counted, and marked.
    """

    def __init__(
        self, stream: EventStream, context: RequestContext, request: CompletionRequest
    ) -> None:
        self._stream = stream
        self._context = context
        self._request = request
        self._started_s = time.monotonic()
        self._started_at_ms = time.time_ns() // 1_000_000
        self._first_token_ms: int | None = None
        self._texts: defaultdict[int, list[str]] = defaultdict(list)
        self._reported: Usage | None = None
        self._model_served: str | None = None
        self._recorded = False
        self.event_id = new_event_id(self._started_at_ms)
        self.vendor_request_id: str | None = None
        self.http_status: int | None = None
        self.attempts = 0
        #: Whether the vendor may have done paid work.
        self.billable = False

    def open(self) -> None:
        """Write the open record, before the vendor is called.

        Raises: StreamUnavailable, and then the vendor must not be called.
        """
        self._stream.open(self.event_id, orjson.dumps(self._opening()))

    def observe(self, chunk: Completion) -> None:
        """Take note of a chunk, or of a whole answer."""
        if self._model_served is None or chunk.model != self._request.model_name:
            # Where a chunk names no model, it bears the name that was asked for.
            self._model_served = chunk.model
        if chunk.usage:
            self._reported = chunk.usage
        for choice in chunk.choices:
            if choice.text:
                if self._first_token_ms is None:
                    self._first_token_ms = self._elapsed_ms()
                self._texts[choice.index].append(choice.text)

    def failed(self, error: GatewayError) -> None:
        """Take note of how the vendor call failed."""
        if error.vendor_status is not None:  # else it failed after its status, or before
            self.http_status = error.vendor_status
        maybe = isinstance(error, VendorFailed | VendorTimeout)  # the others say: no work was done
        self.billable = error.billable or (self.billable and maybe)

    @property
    def usage(self) -> Usage:
        """The request's tokens: the vendor's count, or else an estimate."""
        return self._settled[0]

    def record(self, status: Status, *, drained: bool = False) -> None:
        """Publish the event; a second call does nothing. Never raises: the answer comes first."""
        if self._recorded:
            return
        self._recorded = True
        event = self._event(status, drained=drained)
        try:
            self._stream.publish(event)
        except StreamUnavailable:
            # The whole event, so that it can be replayed from the log: nothing else has it now.
            log.exception("usage event not published: %s", event.encode().decode())

    @cached_property
    def _settled(self) -> tuple[Usage, Source]:
        if self._reported is not None:
            return self._reported, "vendor"
        if not self.billable and not self._texts:
            return Usage(), "none"
        texts = {index: "".join(pieces) for index, pieces in self._texts.items()}
        return estimate(self._request, texts), "estimated"

    def _elapsed_ms(self) -> int:
        return int((time.monotonic() - self._started_s) * 1000)

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
            "started_at_ms": self._started_at_ms,
        }

    def _event(self, status: Status, *, drained: bool) -> UsageEvent:
        usage, source = self._settled
        return UsageEvent(
            **self._opening(),
            model_served=self._model_served,
            status=status,
            source="drained" if drained and source == "vendor" else source,
            **{name: getattr(usage, name) for name in USAGE_COUNTS},
            vendor_request_id=self.vendor_request_id,
            http_status=self.http_status,
            attempts=self.attempts,
            first_token_ms=self._first_token_ms,
            duration_ms=self._elapsed_ms(),
        )
