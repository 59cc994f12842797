"""Logs one line per request when its last byte is sent, and counts the request for Prometheus.

Lines contain no headers, queries, prompts or completions. For an invalid API key, a line contains
the client's address and the first digits of the key's digest.
"""

import logging
import time
from typing import Any

from flask import Flask, Response, g, request

from app.observability.client_address import source_address
from app.observability.metrics.metrics import Metrics
from app.observability.refusals import ENDPOINTS, Refusals
from app.tracing.trace_context import Trace, Tracing
from app.usage.messages.event import UsageEvent
from app.vocabulary.errors import TollgateError

log = logging.getLogger(__name__)

#: Blueprints that are polled every few seconds.
POLLED_BLUEPRINTS = frozenset({"health", "metrics"})

#: The fields of a usage event that a line contains.
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
    """The log line of one request, which collects its fields as they become known.

    It observes the request's meter.
    """

    def __init__(
        self,
        request_id: str,
        metrics: Metrics,
        refusals: Refusals,
        trace: Trace,
        proxies: int,
    ) -> None:
        self.request_id = request_id
        self.trace = trace
        self._metrics = metrics
        self._refusals = refusals
        self._proxies = proxies
        self._started_s = time.monotonic()
        self._is_quiet = False
        self._is_opened = False
        self._answered: dict[str, Any] = {}
        self._event: UsageEvent | None = None

    def opened(self, *, stream: bool) -> None:
        """Count a completion request that was admitted."""
        self._is_opened = True
        self._metrics.opened(stream=stream)

    def recorded(self, event: UsageEvent) -> None:
        """Count a completion request that has ended, and log its usage."""
        self._metrics.recorded(event)
        self._event = event

    def surplus(self, vendor: str, choices: int) -> None:
        """Count choices that were dropped, and log a warning."""
        self._metrics.surplus(vendor, choices)
        log.warning("%s sent %s surplus choices in request %s", vendor, choices, self.request_id)

    def unknown_reason(self, vendor: str, word: str) -> None:
        """Count an unknown finish reason, and log a warning."""
        self._metrics.unknown_reason(vendor, word)
        log.warning(
            "%s ended a choice with the unknown finish reason %r in request %s; map it in "
            "`finish_reasons` of the vendor's entry",
            vendor,
            word,
            self.request_id,
        )

    def failed(self, error: TollgateError) -> None:
        """Log an error that occurred after the status line was sent."""
        self._answered["code"] = error.code

    def answered(self, response: Response) -> None:
        """Count the response, and log its status; called before its body is sent."""
        rule, get = request.url_rule, g.get  # each use of a proxy costs a look-up
        self._is_quiet = request.blueprint in POLLED_BLUEPRINTS and response.status_code < 400
        self._answered = {
            "method": request.method,
            "route": rule.rule if rule else None,
            "status": response.status_code,
            "code": get("error_code"),
            "account_id": get("account_id"),
            "api_key_id": get("api_key_id"),
        }
        if response.status_code == 401:
            self._answered |= {
                "client_address": source_address(self._proxies),
                "key_digest": get("key_digest"),
            }
        self._metrics.answered(rule.rule if rule else None, response.status_code)
        if response.status_code >= 400 and not self._is_opened:
            self._refused()

    def _refused(self) -> None:
        """Count a request that ended before any vendor was called, if it was to call one."""
        endpoint = ENDPOINTS.get(request.url_rule.rule) if request.url_rule else None
        reason = g.get("refusal_reason")
        if endpoint and reason and request.method == "POST":
            known = (g.get(name, "") for name in ("account_id", "api_key_id"))
            self._refusals.count(reason, endpoint, *known)

    def write(self) -> None:
        """Write the line, and end the request's trace."""
        fields = {
            "request_id": self.request_id,
            "trace_id": self.trace.trace_id,
            **self._answered,
            **_usage_fields(self._event),
            "duration_ms": int((time.monotonic() - self._started_s) * 1000),
        }
        fields = {name: value for name, value in fields.items() if value is not None}
        self.trace.end(fields)
        log.log(self._level(), _summary(fields), extra={"fields": fields})

    def _level(self) -> int:
        if self._is_quiet:
            return logging.DEBUG
        return logging.WARNING if self._answered.get("status", 0) >= 500 else logging.INFO


def register_request_log(
    app: Flask, metrics: Metrics, refusals: Refusals, tracing: Tracing, proxies: int
) -> None:
    """Log every request; call this before registering anything that may reject a request.

    `proxies` is the number of our own proxies in front of the web process.
    """

    def begin() -> None:
        rule = request.url_rule
        name = f"{request.method} {rule.rule}" if rule else request.method
        get = request.headers.get
        trace = tracing.begin(name, get("traceparent", ""), get("tracestate", ""))
        g.line = RequestLine(g.request_id, metrics, refusals, trace, proxies)

    app.before_request(begin)
    app.after_request(_answered)


def _answered(response: Response) -> Response:
    line: RequestLine = g.line
    line.answered(response)
    response.call_on_close(line.write)  # after the last byte, and after the callbacks of views
    return response


def _usage_fields(event: UsageEvent | None) -> dict[str, Any]:
    if event is None:
        return {}
    return {
        "outcome": event.status,
        "vendor_status": event.http_status,
        **{name: getattr(event, name) for name in EVENT_FIELDS},
    }


def _summary(fields: dict[str, Any]) -> str:
    return f"{fields.get('method')} {fields.get('route', '(no route)')} {fields.get('status')}"
