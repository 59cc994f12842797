"""Declares the metric families of a web process, and how a host's processes share their values.

Every label has few values: configured vendors, models that have answered, statuses. No label is an
account.
"""

import os

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

from app.observability.metrics.directory import VARIABLE

#: Read at every count; the library's own way makes a system call each time.
_pid = os.getpid()


def _forked() -> None:
    global _pid  # noqa: PLW0603
    _pid = os.getpid()


os.register_at_fork(after_in_child=_forked)
if os.environ.get(VARIABLE):
    values.ValueClass = values.MultiProcessValue(lambda: _pid)  # type: ignore[no-untyped-call]

disable_created_metrics()  # type: ignore[no-untyped-call]  # twice as many lines for little use

#: Bucket bounds in seconds, from a small model at a fast vendor to the longest stream.
FIRST_TOKEN_S = (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5, 2.5, 5, 10, 20, 60, 300)
DURATION_S = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 900)


class Families:
    """The metric families of one process. Units: seconds and tokens."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._add_requests()
        self._add_vendors()
        self._add_latencies()

    def _add_requests(self) -> None:
        self.http_requests = self._counter(
            "tollgate_http_requests", "HTTP responses, by route and status.", ("route", "status")
        )
        self.completions = self._counter(
            "tollgate_completions",
            "Admitted completion requests that have ended, by endpoint and status.",
            ("endpoint", "vendor", "model", "status"),
        )
        self.tokens = self._counter(
            "tollgate_tokens",
            "Tokens used. prompt includes cached and cache_write; completion includes reasoning.",
            ("endpoint", "vendor", "model", "kind"),
        )
        self.estimated = self._counter(
            "tollgate_estimated_completions",
            "Completion requests whose tokens Tollgate estimated, since the vendor sent no count.",
            ("endpoint", "vendor"),
        )

        self.refused = self._counter(
            "tollgate_refused_requests",
            "Requests that were refused before any vendor was called, by reason.",
            ("endpoint", "reason"),
        )
        self.unlimited = self._counter(
            "tollgate_unlimited_requests",
            "Requests that were served without a check of their limits, by reason.",
            ("reason",),
        )

    def _add_vendors(self) -> None:
        self.vendor_errors = self._counter(
            "tollgate_vendor_errors",
            "Completion requests that failed or were truncated, by the vendor's HTTP status"
            " (none: no response).",
            ("endpoint", "vendor", "status"),
        )
        self.vendor_calls = self._counter(
            "tollgate_vendor_calls",
            "Calls to vendors, including retries and failovers, by the vendor of the last call.",
            ("endpoint", "vendor"),
        )
        self.unknown_reasons = self._counter(
            "tollgate_unknown_finish_reasons",
            "Choices that ended with an unknown finish reason, by the vendor's reason.",
            ("vendor", "reason"),
        )
        self.surplus_choices = self._counter(
            "tollgate_surplus_choices",
            "Choices that were dropped, because they were not requested or match no prompt.",
            ("vendor",),
        )

    def _add_latencies(self) -> None:
        self.first_token = Histogram(
            "tollgate_first_token_seconds",
            "Time from the start of a streamed request to its first text.",
            ("endpoint", "vendor"),
            buckets=FIRST_TOKEN_S,
            registry=self._registry,
        )
        self.duration = Histogram(
            "tollgate_completion_duration_seconds",
            "Time from the start of a completion request to its end.",
            ("endpoint", "vendor", "stream"),
            buckets=DURATION_S,
            registry=self._registry,
        )
        self.open_completions = Gauge(
            "tollgate_open_completions",
            "Completion requests in flight; those with stream=true are open streams.",
            ("stream",),
            multiprocess_mode="livesum",
            registry=self._registry,
        )

    def _counter(self, name: str, description: str, labels: tuple[str, ...]) -> Counter:
        return Counter(name, description, labels, registry=self._registry)

    def collector(self) -> Collector:
        """Return the collector to scrape: of all processes that share a directory, if any do."""
        directory = os.environ.get(VARIABLE)
        if not directory:
            return self._registry
        return MultiProcessCollector(None, directory)  # type: ignore[no-untyped-call]
