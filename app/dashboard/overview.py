"""`GET /dashboard`: tokens, costs and errors over time, vendors' latencies, and the backlog."""

import time
from dataclasses import dataclass
from typing import Any

from flask import Response, request

from app.api.usage_pages import complete_until_s
from app.container import services
from app.dashboard import stacked_bars
from app.dashboard.aggregates import Chart, OverTime, grouped, total
from app.dashboard.filters import GROUPS, Filters
from app.dashboard.latencies import FAILURES_LIMIT, failures, latencies
from app.dashboard.refusals import refusal_query, refusal_table
from app.dashboard.sign_in import current_user
from app.dashboard.site import dashboard_blueprint, page
from app.ledger.reports.latencies import LatencyReport
from app.observability.missing_check import settled
from app.usage.missing import Missing, count_missing
from app.vocabulary.errors import StreamUnavailable


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
        **_endings(source.latencies.read(query, now_s)),
        refusals=refusal_table(source.refusals.rows(refusal_query(query))),
        complete_until_s=until_s,
        backlog=_backlog(now_s) if current_user().is_admin and until_s is not None else None,
    )


def _endings(timed: LatencyReport | None) -> dict[str, Any]:
    """Return what the page shows of how requests ended, and how long they took."""
    rows = timed.rows if timed is not None else ()
    failed = failures(rows)
    return {
        "timed": timed,
        "latencies": latencies(rows),
        "failures": failed[:FAILURES_LIMIT],
        "failed_otherwise": sum(it.requests for it in failed[FAILURES_LIMIT:]),
    }


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
