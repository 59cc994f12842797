"""One log line a request, written when its last byte is out; counted for Prometheus as well.

It holds no header, no query, no prompt and no answer. Of a refused key it tells where it came from
and the first digits of its digest.
"""

import logging
import time
from typing import Any

from flask import Flask, Response, g, request

from app.observability.client_address import source_address
from app.observability.metrics import Metrics
from app.tracing.trace_context import Trace, Tracing
from app.usage.event import UsageEvent
from app.vocabulary.errors import TollgateError

log = logging.getLogger(__name__)

#: Blueprints that are asked every few seconds, by machines.
QUIET = frozenset({"health", "metrics"})

#: What the line tells of a completion: the event's fields, but for what is told already.
EVENT_FIELDS = (
    "event_id",
    "account_id",
    "api_key_id",
    "vendor",
    "model",
    "vendor_served",
    "model_served",
    "stream",
    "source",
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "cached_tokens",
    "reasoning_tokens",
    "vendor_request_id",
    "attempts",
    "client_retry_count",
    "first_token_ms",
)


class RequestLine:
    """What becomes of one request, told piece by piece; the meter's observer."""

    def __init__(self, request_id: str, metrics: Metrics, trace: Trace, proxies: int) -> None:
        self.request_id = request_id
        self.trace = trace
        self._metrics = metrics
        self._proxies = proxies
        self._started_s = time.monotonic()
        self._is_quiet = False
        self._answered: dict[str, Any] = {}
        self._event: UsageEvent | None = None

    def opened(self, *, stream: bool) -> None:
        """Take note that a completion was admitted."""
        self._metrics.opened(stream=stream)

    def recorded(self, event: UsageEvent) -> None:
        """Take note of what a completion used."""
        self._metrics.recorded(event)
        self._event = event

    def surplus(self, vendor: str, choices: int) -> None:
        """Take note of choices that were dropped."""
        self._metrics.surplus(vendor, choices)
        log.warning("%s sent %s choices too many, in %s", vendor, choices, self.request_id)

    def unknown_reason(self, vendor: str, word: str) -> None:
        """Take note of a finish reason that nobody knows."""
        self._metrics.unknown_reason(vendor, word)
        log.warning(
            "%s ended a choice with the unknown finish reason %r, in %s; the entry's "
            "`finish_reasons` can say what it means",
            vendor,
            word,
            self.request_id,
        )

    def failed(self, error: TollgateError) -> None:
        """Take note of an error after the status line."""
        self._answered["code"] = error.code

    def answered(self, response: Response) -> None:
        """Take note of the response, as it begins."""
        rule = request.url_rule
        self._is_quiet = request.blueprint in QUIET and response.status_code < 400
        self._answered = {
            "method": request.method,
            "route": rule.rule if rule else None,
            "status": response.status_code,
            "code": g.get("error_code"),
            "account_id": g.get("account_id"),
            "api_key_id": g.get("api_key_id"),
        }
        if response.status_code == 401:
            self._answered |= {
                "client_address": source_address(self._proxies),
                "key_digest": g.get("key_digest"),
            }
        self._metrics.answered(rule.rule if rule else None, response.status_code)

    def write(self) -> None:
        """Write the line."""
        fields = {
            "request_id": self.request_id,
            "trace_id": self.trace.trace_id,
            **self._answered,
            **_told(self._event),
            "duration_ms": int((time.monotonic() - self._started_s) * 1000),
        }
        fields = {name: value for name, value in fields.items() if value is not None}
        self.trace.end(fields)
        log.log(self._level(), _summary(fields), extra={"fields": fields})

    def _level(self) -> int:
        if self._is_quiet:
            return logging.DEBUG
        return logging.WARNING if self._answered.get("status", 0) >= 500 else logging.INFO


def register_request_log(app: Flask, metrics: Metrics, tracing: Tracing, proxies: int) -> None:
    """Log every request; register it before anything that may reject one.

    `proxies` is how many of our own proxies stand between callers and us.
    """

    def begin() -> None:
        rule = request.url_rule
        name = f"{request.method} {rule.rule}" if rule else request.method
        get = request.headers.get
        trace = tracing.begin(name, get("traceparent", ""), get("tracestate", ""))
        g.line = RequestLine(g.request_id, metrics, trace, proxies)

    app.before_request(begin)
    app.after_request(_answered)


def _answered(response: Response) -> Response:
    line: RequestLine = g.line
    line.answered(response)
    response.call_on_close(line.write)  # after the last byte; what a view registered comes first
    return response


def _told(event: UsageEvent | None) -> dict[str, Any]:
    if event is None:
        return {}
    return {
        "outcome": event.status,
        "vendor_status": event.http_status,
        **{name: getattr(event, name) for name in EVENT_FIELDS},
    }


def _summary(fields: dict[str, Any]) -> str:
    return f"{fields.get('method')} {fields.get('route', '(no route)')} {fields.get('status')}"
