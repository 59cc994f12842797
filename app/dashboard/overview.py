"""`GET /dashboard`: tokens, costs and errors over time, vendors' latencies, and the backlog."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from flask import Response, request

from app.api.usage_pages import complete_until_s
from app.container import services
from app.dashboard import stacked_bars
from app.dashboard.aggregates import Chart, OverTime, grouped, total
from app.dashboard.filters import GROUPS, Filters
from app.dashboard.sign_in import current_user
from app.dashboard.site import dashboard_blueprint, page
from app.ledger.reports.recent import SAMPLE, RequestOutcome, known, percentile
from app.observability.missing_check import settled
from app.usage.messages.event import Status
from app.usage.missing import Missing, count_missing
from app.vocabulary.errors import StreamUnavailable

#: Failures with their own line; the others are added up.
FAILURES_LIMIT = 12


@dataclass(frozen=True, slots=True)
class VendorLatency:
    """The outcomes and latencies of a vendor's last requests.

    Latencies are the median and the 95th percentile; None without a completed request.
    """

    vendor: str
    requests: int
    errors: int
    first_token_ms: tuple[int | None, int | None]
    duration_ms: tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class PageBacklog:
    """Usage that is not in the ledger yet, of all accounts and hosts."""

    events: int
    oldest_ms: int | None
    open_requests: int
    dead_events: int
    missing: tuple[Missing, ...]

    @property
    def missing_requests(self) -> int:
        """How many requests' usage is missing."""
        return count_missing(self.missing)


@dataclass(frozen=True, slots=True)
class Failure:
    """The number of requests of a vendor that ended with a status other than `completed`."""

    vendor: str
    status: Status
    http_status: int | None
    requests: int


@dashboard_blueprint.get("")
def overview() -> Response:
    """Show the totals of a range of days, by model, vendor or account."""
    now_s = time.time()
    filters = Filters.load(request.args, now_s)
    query = filters.query(current_user().account_ids, over_time=True)
    # Read before the ledger: requests posted in between only make the result more complete.
    source = services().reports.open()
    until_s = complete_until_s(source)
    rows = source.usage.rows(query)
    groups = grouped(rows, GROUPS[filters.by])
    outcomes = source.recent.outcomes(query)
    failed = failures(outcomes)
    times_s = range(filters.start_s, filters.end_s, filters.bucket_s)
    over_time = OverTime(rows, groups, GROUPS[filters.by], times_s, filters.bucket_s)
    return page(
        "overview.html",
        filters=filters,
        choices=choices(),
        total=total(rows),
        groups=groups,
        charts=_charts(over_time),
        stacked_bars=stacked_bars,
        latencies=latencies(outcomes),
        failures=failed[:FAILURES_LIMIT],
        failed_otherwise=sum(it.requests for it in failed[FAILURES_LIMIT:]),
        sampled=len(outcomes),
        is_sample=len(outcomes) == SAMPLE,
        complete_until_s=until_s,
        backlog=_backlog(now_s) if current_user().is_admin and until_s is not None else None,
    )


def choices() -> dict[str, list[str]]:
    """Return the filters' options: the accounts that may be seen, and the configured vendors."""
    mine = current_user().account_ids
    if mine is None:
        mine = frozenset(it.account_id for it in services().accounts.list())
    return {
        "accounts": sorted(mine),
        "vendors": sorted(vendor.name for vendor in services().vendors.configured()),
    }


def _charts(over_time: OverTime) -> list[Chart]:
    return [
        over_time.chart("Tokens", "tokens", lambda row: row.usage.total_tokens),
        over_time.chart("Cost", "usd", lambda row: row.cost_nanousd),
        over_time.chart("Failed requests", "requests", lambda row: row.failed_requests),
    ]


def latencies(outcomes: Iterable[RequestOutcome]) -> list[VendorLatency]:
    """Return the latencies of each vendor; if there are several, those of all vendors first."""
    by_vendor: defaultdict[str, list[RequestOutcome]] = defaultdict(list)
    for outcome in outcomes:
        by_vendor[outcome.vendor].append(outcome)
    of_each = [_latency(vendor, by_vendor[vendor]) for vendor in sorted(by_vendor)]
    if len(of_each) == 1:
        return of_each
    return [_latency("all", [it for each in by_vendor.values() for it in each]), *of_each]


def _latency(vendor: str, outcomes: list[RequestOutcome]) -> VendorLatency:
    # Requests that failed, or whose client disconnected, do not show how fast a vendor responds.
    completed = [it for it in outcomes if it.status == "completed"]
    first_token_ms = known(it.first_token_ms for it in completed)
    duration_ms = [it.duration_ms for it in completed]
    return VendorLatency(
        vendor,
        len(outcomes),
        sum(it.status in ("failed", "truncated") for it in outcomes),
        (percentile(first_token_ms, 50), percentile(first_token_ms, 95)),
        (percentile(duration_ms, 50), percentile(duration_ms, 95)),
    )


def failures(outcomes: Iterable[RequestOutcome]) -> list[Failure]:
    """Return the failures by vendor and status, the most frequent first."""
    ways = Counter(
        (it.vendor, it.status, it.http_status) for it in outcomes if it.status != "completed"
    )
    found = [Failure(*way, requests) for way, requests in ways.items()]
    return sorted(found, key=lambda it: (-it.requests, it.vendor, it.status, it.http_status or 0))


def _backlog(now_s: float) -> PageBacklog | None:
    """Return the backlog; None while Redis is unavailable."""
    stream, records = services().stores.events, services().stores.records
    try:
        oldest_ms = stream.oldest_ms()
        age_ms = None if oldest_ms is None else max(0, int(now_s * 1000) - oldest_ms)
        missing = settled(services().stores.processes.search(), int(now_s * 1000))
        return PageBacklog(stream.backlog(), age_ms, records.count(), stream.dead_count(), missing)
    except StreamUnavailable:
        return None
