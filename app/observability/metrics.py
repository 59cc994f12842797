"""What Prometheus scrapes: counts of this web process, as its requests end.

Every label has few values: vendors of the table, models that were ever answered, statuses. No
account is one. Several web processes of one machine share a directory, and whichever is scraped
tells for all. Knows neither HTTP nor Redis.
"""

import functools
import logging
import operator
import os
from collections.abc import Callable, Iterable
from typing import Concatenate, ParamSpec

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    values,
)
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from app.observability.metrics_directory import VARIABLE
from app.usage.event import Status, UsageEvent
from app.vendors.vendor import Vendor

P = ParamSpec("P")

log = logging.getLogger(__name__)

#: Asked at every count; the library's own way is a system call.
_pid = os.getpid()


def _forked() -> None:
    global _pid  # noqa: PLW0603
    _pid = os.getpid()


os.register_at_fork(after_in_child=_forked)
if os.environ.get(VARIABLE):
    values.ValueClass = values.MultiProcessValue(lambda: _pid)  # type: ignore[no-untyped-call]

disable_created_metrics()  # type: ignore[no-untyped-call]  # they double each line, and say little

#: Models that get a label of their own; the next ones are OTHER. Callers make up names.
MODELS_LIMIT = 200
OTHER = "other"

#: Finish reasons that get a label of their own: vendors could make up words, too.
WORDS_LIMIT = 50

#: Bounds in seconds: a small model on a fast vendor up to the longest stream.
FIRST_TOKEN_S = (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5, 2.5, 5, 10, 20, 60, 300)
DURATION_S = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 900)

#: Kinds of tokens -> the event's count of it. `cached` and `cache_write` are parts of `prompt`,
#: `reasoning` is a part of `completion`.
TOKENS = {
    "prompt": "prompt_tokens",
    "completion": "completion_tokens",
    "cached": "cached_tokens",
    "cache_write": "cache_write_tokens",
    "reasoning": "reasoning_tokens",
}

#: What alerts name, of vendors' statuses and of requests. These series are there from the start: of
#: one that begins with 1, Prometheus sees no increase.
WATCHED_STATUSES = (401, 402, 403)
WATCHED_ENDS: tuple[Status, ...] = ("completed", "failed", "truncated")


def _unobtrusive(
    count: Callable[Concatenate["Metrics", P], None],
) -> Callable[Concatenate["Metrics", P], None]:
    """Have a fault in counting (a directory swept away, a full disk) cost nobody an answer."""

    @functools.wraps(count)
    def counted(metrics: "Metrics", /, *args: P.args, **kwargs: P.kwargs) -> None:
        try:
            count(metrics, *args, **kwargs)
        except Exception:
            log.exception("a count is missing from the metrics")

    return counted


class Metrics:
    """The counts of one web process. Units: seconds and tokens."""

    def __init__(self, vendors: Iterable[Vendor]) -> None:
        vendors = tuple(vendors)
        self._vendors: dict[str, set[str]] = {
            vendor.name: {model for model in vendor.models if "*" not in model}
            for vendor in vendors
        }
        self._room = MODELS_LIMIT
        self._words: set[str] = set()
        self._registry = registry = CollectorRegistry()
        self.http_requests = Counter(
            "tollgate_http_requests",
            "Requests answered, by route and the status that the caller saw.",
            ("route", "status"),
            registry=registry,
        )
        self.completions = Counter(
            "tollgate_completions",
            "Completion requests that were admitted and have ended, by what became of them.",
            ("vendor", "model", "status"),
            registry=registry,
        )
        self.vendor_errors = Counter(
            "tollgate_vendor_errors",
            "Requests that failed or broke off, by the vendor's HTTP status (none: no answer).",
            ("vendor", "status"),
            registry=registry,
        )
        self.vendor_calls = Counter(
            "tollgate_vendor_calls",
            "Calls of vendors, retries and failovers included, by the vendor that came last.",
            ("vendor",),
            registry=registry,
        )
        self.tokens = Counter(
            "tollgate_tokens",
            "Tokens used; cached, cache_write and reasoning are parts of the other two.",
            ("vendor", "model", "kind"),
            registry=registry,
        )
        self.estimated = Counter(
            "tollgate_estimated_completions",
            "Requests whose tokens were counted here, since the vendor did not say.",
            ("vendor",),
            registry=registry,
        )
        self.unknown_reasons = Counter(
            "tollgate_unknown_finish_reasons",
            "Choices that ended with a finish reason that is not known here, by the vendor's word.",
            ("vendor", "reason"),
            registry=registry,
        )
        self.surplus_choices = Counter(
            "tollgate_surplus_choices",
            "Choices of vendors that were dropped: not asked for, or of no known prompt.",
            ("vendor",),
            registry=registry,
        )
        self.first_token = Histogram(
            "tollgate_first_token_seconds",
            "From the start of a request to its first text, streamed requests only.",
            ("vendor",),
            buckets=FIRST_TOKEN_S,
            registry=registry,
        )
        self.duration = Histogram(
            "tollgate_completion_duration_seconds",
            "From the start of a completion request to its end.",
            ("vendor", "stream"),
            buckets=DURATION_S,
            registry=registry,
        )
        self.open_completions = Gauge(
            "tollgate_open_completions",
            "Completion requests under way; those with stream=true are open streams.",
            ("stream",),
            multiprocess_mode="livesum",
            registry=registry,
        )
        self._open: dict[bool, Gauge] = {}
        self._answers: dict[tuple[str | None, int], Counter] = {}
        self._series: dict[tuple[str, str, Status, bool], _Series] = {}
        for name in (vendor.name for vendor in vendors if vendor.missing is None):
            self._begin_vendor(name)

    @_unobtrusive
    def begin_routes(self, routes: Iterable[str]) -> None:
        """Have there be a count of faults for each route, and for a path that has none."""
        for route in (*routes, "none"):
            self.http_requests.labels(route, 500)
        for stream in (True, False):
            self._under_way(stream)

    @_unobtrusive
    def answered(self, route: str | None, status: int) -> None:
        """Count an answer; `route` None where the path has none."""
        answers = self._answers.get((route, status))
        if answers is None:
            answers = self.http_requests.labels(route or "none", status)
            self._answers[route, status] = answers
        answers.inc()

    @_unobtrusive
    def opened(self, *, stream: bool) -> None:
        """Count a completion request that was admitted."""
        self._under_way(stream).inc()

    @_unobtrusive
    def recorded(self, event: UsageEvent) -> None:
        """Count a completion request that has ended."""
        self._under_way(event.stream).dec()
        key = (*self._labels(event), event.status, event.stream)
        series = self._series.get(key)
        if series is None:  # finding them costs ten times as much as counting
            series = self._series[key] = _Series(self, *key)
        series.count(event)
        if event.source == "estimated":
            self.estimated.labels(key[0]).inc()
        if event.status in ("failed", "truncated"):
            self.vendor_errors.labels(key[0], _status(event.http_status)).inc()

    @_unobtrusive
    def unknown_reason(self, vendor: str, word: str) -> None:
        """Count a choice that ended with a word that nobody knows."""
        if word not in self._words:
            word = word if len(self._words) < WORDS_LIMIT else OTHER
            self._words.add(word)
        self.unknown_reasons.labels(vendor, word).inc()

    @_unobtrusive
    def surplus(self, vendor: str, choices: int) -> None:
        """Count choices that were dropped."""
        self.surplus_choices.labels(vendor).inc(choices)

    def collector(self) -> Collector:
        """Return the counts to show: those of all processes, where they share a directory."""
        directory = os.environ.get(VARIABLE)
        if not directory:
            return self._registry
        return MultiProcessCollector(None, directory)  # type: ignore[no-untyped-call]

    def _labels(self, event: UsageEvent) -> tuple[str, str]:
        """Return the vendor that served, and the model if any vendor ever answered for it."""
        vendor = event.vendor_served or event.vendor
        known = self._vendors.get(vendor)
        if known is None:
            return OTHER, OTHER
        if event.model in known:
            return vendor, event.model
        if event.status != "completed" or self._room <= 0:
            return vendor, OTHER
        self._room -= 1
        known.add(event.model)
        self._begin_model(vendor, event.model)
        return vendor, event.model

    def _under_way(self, stream: bool) -> Gauge:
        gauge = self._open.get(stream)
        if gauge is None:
            gauge = self._open[stream] = self.open_completions.labels(_flag(stream))
        return gauge

    @_unobtrusive
    def _begin_vendor(self, vendor: str) -> None:
        for model in (*self._vendors[vendor], OTHER):
            self._begin_model(vendor, model)
        for status in WATCHED_STATUSES:
            self.vendor_errors.labels(vendor, status)
        self.first_token.labels(vendor)

    def _begin_model(self, vendor: str, model: str) -> None:
        for status in WATCHED_ENDS:
            self.completions.labels(vendor, model, status)


class _Series:
    """What the requests of one vendor, model and end have in common."""

    def __init__(
        self, metrics: Metrics, vendor: str, model: str, status: Status, stream: bool
    ) -> None:
        self._completions = metrics.completions.labels(vendor, model, status)
        self._calls = metrics.vendor_calls.labels(vendor)
        self._duration = metrics.duration.labels(vendor, _flag(stream))
        self._first_token = metrics.first_token.labels(vendor) if stream else None
        self._tokens = [
            (operator.attrgetter(name), metrics.tokens.labels(vendor, model, kind))
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
    """Return a vendor's status as a label; one that no standard knows has no name of its own."""
    if status is None:
        return "none"
    return str(status) if 200 <= status <= 599 else OTHER
