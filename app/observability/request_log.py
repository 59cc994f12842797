"""Logs one line per request when its last byte is sent, and counts the request for Prometheus.

Lines contain no headers, queries, prompts or completions. For an invalid API key, a line contains
the client's address and the first digits of the key's digest.
"""

import logging
import operator
import time
from typing import Any

from flask import Flask, Request, Response, g, request

from app.observability.client_address import source_address
from app.observability.metrics.metrics import Metrics
from app.observability.refusals import ENDPOINTS, Refusals
from app.tracing.trace_context import Trace, Tracing
from app.usage.messages.event import UsageEvent
from app.vocabulary.errors import TollgateError

log = logging.getLogger(__name__)

#: Blueprints that are polled every few seconds.
POLLED_BLUEPRINTS = frozenset({"health", "metrics"})

#: The fields of a usage event that a line contains under their own names.
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
#: What a line contains of an event, and where it is there.
_USAGE_NAMES = ("outcome", "vendor_status", *EVENT_FIELDS)
_usage_values = operator.attrgetter("status", "http_status", *EVENT_FIELDS)


class RequestLine:
    """The log line of one request, which collects its fields as they become known.

    It observes the request's meter. `rule` is that of the route; None if there is none. The line
    of a route that is polled every few seconds is logged only if the request failed.
    """

    def __init__(
        self,
        request_id: str,
        metrics: Metrics,
        refusals: Refusals,
        trace: Trace,
        proxies: int,
        *,
        method: str = "",
        rule: str | None = None,
        is_polled: bool = False,
    ) -> None:
        self.request_id = request_id
        self.trace = trace
        self._method = method
        self._rule = rule
        self._is_polled = is_polled
        self._metrics = metrics
        self._refusals = refusals
        self._proxies = proxies
        self._started_s = time.monotonic()
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
        status, get = response.status_code, g.get  # each use of a proxy costs a look-up
        self._answered = {
            "method": self._method,
            "route": self._rule,
            "status": status,
            "code": get("error_code"),
            "account_id": get("account_id"),
            "api_key_id": get("api_key_id"),
        }
        if status == 401:
            self._answered |= {
                "client_address": source_address(self._proxies),
                "key_digest": get("key_digest"),
            }
        self._metrics.answered(self._rule, status)
        if status >= 400 and not self._is_opened:
            self._refused()

    def _refused(self) -> None:
        """Count a request that ended before any vendor was called, if it was to call one.

        One to a path that does not exist was, too: its client has another base URL.
        """
        endpoint = ENDPOINTS.get(self._rule) if self._rule else ""
        reason = g.get("refusal_reason")
        if endpoint is not None and reason and self._method == "POST":
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
        status = self._answered.get("status", 0)
        if self._is_polled and status < 400:
            return logging.DEBUG
        return logging.WARNING if status >= 500 else logging.INFO


def register_request_log(
    app: Flask, metrics: Metrics, refusals: Refusals, tracing: Tracing, proxies: int
) -> None:
    """Log every request; call this before registering anything that may reject a request.

    `proxies` is the number of our own proxies in front of the web process.
    """

    def begin() -> None:
        # Each use of a proxy costs a look-up.
        asked: Request = request._get_current_object()  # type: ignore[attr-defined]
        method, rule, get = asked.method, asked.url_rule, asked.environ.get
        name = f"{method} {rule.rule}" if rule else method
        g.line = RequestLine(
            g.request_id,
            metrics,
            refusals,
            tracing.begin(name, get("HTTP_TRACEPARENT", ""), get("HTTP_TRACESTATE", "")),
            proxies,
            method=method,
            rule=rule.rule if rule else None,
            is_polled=rule is not None and rule.endpoint.partition(".")[0] in POLLED_BLUEPRINTS,
        )

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
    return dict(zip(_USAGE_NAMES, _usage_values(event), strict=True))


def _summary(fields: dict[str, Any]) -> str:
    return f"{fields.get('method')} {fields.get('route', '(no route)')} {fields.get('status')}"
