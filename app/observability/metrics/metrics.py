"""Counts what a web process does, as its requests end.

All web processes of a host share a directory, so any of them can report the counts of all.
"""

import functools
import logging
import operator
from collections.abc import Callable, Iterable
from itertools import product
from typing import Concatenate, ParamSpec

from prometheus_client import Counter, Gauge
from prometheus_client.registry import Collector

from app.admission.unchecked import REASONS
from app.observability.metrics.families import Families
from app.usage.messages.event import UsageEvent
from app.vendors.vendor import Vendor
from app.vocabulary.request import ENDPOINTS
from app.vocabulary.statuses import FAILED_STATUSES

P = ParamSpec("P")

#: Endpoint, vendor, model and status, and whether the response is streamed.
SeriesKey = tuple[str, str, str, str, bool]

log = logging.getLogger(__name__)

#: The most models with a label of their own; further ones are OTHER. Callers choose model names.
MODELS_LIMIT = 200
OTHER = "other"

#: The most finish reasons with a label of their own; vendors choose them.
REASONS_LIMIT = 50

#: Kinds of tokens -> the event's count. `cached` and `cache_write` are included in `prompt`, and
#: `reasoning` in `completion`.
TOKENS = {
    "prompt": "prompt_tokens",
    "completion": "completion_tokens",
    "cached": "cached_tokens",
    "cache_write": "cache_write_tokens",
    "reasoning": "reasoning_tokens",
}

#: Statuses of vendors and of requests that alerts watch. Their series exist from the start, because
#: Prometheus sees no increase in a series that begins with 1.
WATCHED_VENDOR_STATUSES = (401, 402, 403)
WATCHED_STATUSES: tuple[str, ...] = ("completed", "failed", "truncated")


def _never_raising(
    count: Callable[Concatenate["Metrics", P], None],
) -> Callable[Concatenate["Metrics", P], None]:
    """Log errors of a count (a deleted directory, a full disk), so that they fail no request."""

    @functools.wraps(count)
    def counted(metrics: "Metrics", /, *args: P.args, **kwargs: P.kwargs) -> None:
        try:
            count(metrics, *args, **kwargs)
        except Exception:
            log.exception("a count is missing from the metrics")

    return counted


class Metrics:
    """The counts of one web process; its methods never raise."""

    def __init__(self, vendors: Iterable[Vendor]) -> None:
        vendors = tuple(vendors)
        self._models: dict[str, set[str]] = {
            vendor.name: {model for model in vendor.models if "*" not in model}
            for vendor in vendors
        }
        self._free_models = MODELS_LIMIT
        self._reasons: set[str] = set()
        self._families = Families()
        self._open: dict[bool, Gauge] = {}
        self._responses: dict[tuple[str | None, int], Counter] = {}
        self._series: dict[SeriesKey, _Series] = {}
        self._create_reason_series()
        for name in (vendor.name for vendor in vendors if vendor.missing is None):
            self._create_vendor_series(name)

    @_never_raising
    def begin_routes(self, routes: Iterable[str]) -> None:
        """Create the series of status 500 for each route, and for unknown paths."""
        for route in (*routes, "none"):
            self._families.http_requests.labels(route, 500)
        for stream in (True, False):
            self._open_gauge(stream)

    @_never_raising
    def answered(self, route: str | None, status: int) -> None:
        """Count a response; `route` is None if no route matches the path."""
        responses = self._responses.get((route, status))
        if responses is None:
            responses = self._families.http_requests.labels(route or "none", status)
            self._responses[route, status] = responses
        responses.inc()

    @_never_raising
    def opened(self, *, stream: bool) -> None:
        """Count a completion request that was admitted."""
        self._open_gauge(stream).inc()

    @_never_raising
    def recorded(self, event: UsageEvent) -> None:
        """Count a completion request that has ended."""
        self._open_gauge(event.stream).dec()
        key = (event.endpoint, *self._labels(event), event.status, event.stream)
        series = self._series.get(key)
        if series is None:  # looking series up costs ten times as much as counting
            series = self._series[key] = _Series(self._families, key)
        series.count(event)
        if event.source == "estimated":
            self._families.estimated.labels(*key[:2]).inc()
        if event.status in FAILED_STATUSES:
            self._families.vendor_errors.labels(*key[:2], _status(event.http_status)).inc()

    @_never_raising
    def unlimited(self, reason: str) -> None:
        """Count a request that was served without a check of its limits."""
        self._families.unlimited.labels(reason).inc()

    @_never_raising
    def refused(self, endpoint: str, reason: str) -> None:
        """Count a request that was refused before any vendor was called."""
        self._families.refused.labels(endpoint or "none", reason).inc()

    @_never_raising
    def unknown_reason(self, vendor: str, word: str) -> None:
        """Count a choice that ended with an unknown finish reason."""
        if word not in self._reasons:
            word = word if len(self._reasons) < REASONS_LIMIT else OTHER
            self._reasons.add(word)
        self._families.unknown_reasons.labels(vendor, word).inc()

    @_never_raising
    def surplus(self, vendor: str, choices: int) -> None:
        """Count choices that were dropped."""
        self._families.surplus_choices.labels(vendor).inc(choices)

    def collector(self) -> Collector:
        """Return the collector to scrape, which covers all processes of this host."""
        return self._families.collector()

    def _labels(self, event: UsageEvent) -> tuple[str, str]:
        """Return the vendor that served, and the model if the vendor has answered for it."""
        vendor = event.vendor_served or event.vendor
        known = self._models.get(vendor)
        if known is None:
            return OTHER, OTHER
        if event.model in known:
            return vendor, event.model
        if event.status != "completed" or self._free_models <= 0:
            return vendor, OTHER
        self._free_models -= 1
        known.add(event.model)
        self._create_model_series(vendor, event.model)
        return vendor, event.model

    def _open_gauge(self, stream: bool) -> Gauge:
        gauge = self._open.get(stream)
        if gauge is None:
            gauge = self._open[stream] = self._families.open_completions.labels(_flag(stream))
        return gauge

    @_never_raising
    def _create_reason_series(self) -> None:
        for reason in REASONS:
            self._families.unlimited.labels(reason)

    @_never_raising
    def _create_vendor_series(self, vendor: str) -> None:
        for model in (*self._models[vendor], OTHER):
            self._create_model_series(vendor, model)
        for endpoint, status in product(ENDPOINTS, WATCHED_VENDOR_STATUSES):
            self._families.vendor_errors.labels(endpoint, vendor, status)
        for endpoint in ENDPOINTS:
            self._families.first_token.labels(endpoint, vendor)

    def _create_model_series(self, vendor: str, model: str) -> None:
        for endpoint, status in product(ENDPOINTS, WATCHED_STATUSES):
            self._families.completions.labels(endpoint, vendor, model, status)


class _Series:
    """The series of requests with the same endpoint, vendor, model, status and kind of response."""

    def __init__(self, families: Families, key: SeriesKey) -> None:
        endpoint, vendor, model, status, stream = key
        self._completions = families.completions.labels(endpoint, vendor, model, status)
        self._calls = families.vendor_calls.labels(endpoint, vendor)
        self._duration = families.duration.labels(endpoint, vendor, _flag(stream))
        self._first_token = families.first_token.labels(endpoint, vendor) if stream else None
        self._tokens = [
            (operator.attrgetter(name), families.tokens.labels(endpoint, vendor, model, kind))
            for kind, name in TOKENS.items()
        ]

    def count(self, event: UsageEvent) -> None:
        self._completions.inc()
        self._calls.inc(event.attempts)
        self._duration.observe(event.duration_ms / 1000)
        if self._first_token is not None and event.first_token_ms is not None:
            self._first_token.observe(event.first_token_ms / 1000)
        for count_of, counter in self._tokens:
            if count := count_of(event):
                counter.inc(count)


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _status(status: int | None) -> str:
    """Return a vendor's status as a label; statuses outside 200 to 599 are OTHER."""
    if status is None:
        return "none"
    return str(status) if 200 <= status <= 599 else OTHER
