"""`GET /dashboard`: usage, costs and failures over time, budgets, latencies, and the backlog."""

import time
from collections.abc import Iterable
from typing import Any

from flask import Response, request

from app.api.usage_pages import complete_until_s
from app.container import services
from app.dashboard import stacked_bars
from app.dashboard.downloads import (
    Line,
    csv_file,
    failure_lines,
    latency_lines,
    refusal_lines,
    series_lines,
    total_lines,
)
from app.dashboard.filters import Filters
from app.dashboard.latencies import FAILURES_LIMIT, failures, latencies
from app.dashboard.pipeline import read_pipeline
from app.dashboard.preferences import filtered_page, stored_zone
from app.dashboard.refusals import refusal_query, refusal_table
from app.dashboard.sign_in import current_user
from app.dashboard.site import dashboard_blueprint
from app.dashboard.usage_view import UsageView, read_usage
from app.ledger.reports.allowances import Allowance, by_share, read_allowances
from app.ledger.reports.latencies import ENTRIES_LIMIT, LatencyReport
from app.ledger.reports.query import UsageQuery
from app.ledger.reports.source import ReportSource
from app.vocabulary.errors import InvalidRequest

#: Budgets with their own line.
BUDGETS_LIMIT = 8

#: The files of the page's tables and charts.
FILES = ("totals", "series", "latencies", "failures", "refusals")


@dashboard_blueprint.get("")
def overview() -> Response:
    """Show the totals of a range, by one of GROUPS."""
    now_s = time.time()
    filters = Filters.load(request.args, now_s, stored_zone())
    visible = current_user().account_ids
    # Read before the ledger: requests posted in between only make the result more complete.
    source = services().reports.open()
    until_s = complete_until_s(source)
    view = read_usage(source.usage, filters, visible)
    query = filters.query(visible)
    if wanted := request.args.get("csv"):
        return csv_file(f"usage-{wanted}", _file(wanted, view, source, query))
    return filtered_page(
        "overview.html",
        filters,
        view=view,
        charts=view.charts,
        stacked_bars=stacked_bars,
        **_endings(source.latencies.read(query, now_s)),
        refusals=refusal_table(source.refusals.rows(refusal_query(query))),
        budgets=_budgets(now_s),
        complete_until_s=until_s,
        pipeline=read_pipeline(now_s) if current_user().is_admin else None,
    )


def _file(wanted: str, view: UsageView, source: ReportSource, query: UsageQuery) -> Iterable[Line]:
    """Return the lines of a file, one of FILES.

    Raises: InvalidRequest.
    """
    if wanted not in FILES:
        raise InvalidRequest(f"`csv` must be one of {', '.join(FILES)}.", param="csv")
    if wanted == "refusals":
        return refusal_lines(refusal_table(source.refusals.rows(refusal_query(query))).ranked)
    if wanted in ("latencies", "failures"):
        timed = source.latencies.read(query, view.filters.range.now_s)
        rows = timed.rows if timed is not None else ()
        is_timed = wanted == "latencies"
        return latency_lines(latencies(rows)) if is_timed else failure_lines(failures(rows))
    return total_lines(view) if wanted == "totals" else series_lines(view)


def _endings(timed: LatencyReport | None) -> dict[str, Any]:
    """Return what the page shows of how requests ended, and how long they took."""
    rows = timed.rows if timed is not None else ()
    failed = failures(rows)
    return {
        "timed": timed,
        "entries_limit": ENTRIES_LIMIT,
        "latencies": latencies(rows),
        "failures": failed[:FAILURES_LIMIT],
        "failed_otherwise": sum(it.requests for it in failed[FAILURES_LIMIT:]),
    }


def _budgets(now_s: float) -> list[Allowance]:
    """Return the fullest budgets that the user may see."""
    user, stored = current_user(), services().accounts
    with_budget = [it for it in stored.list_limits() if it.has_budget]
    mine = user.account_ids
    if mine is not None and with_budget:
        keys = {it.key_id for it in stored.list_keys() if not mine.isdisjoint(it.account_ids)}
        subjects = {("account", it) for it in mine} | {("key", it) for it in keys}
        with_budget = [it for it in with_budget if (it.kind, it.subject_id) in subjects]
    found = read_allowances(services().usage_reader, with_budget, mine, int(now_s * 1000))
    return by_share(found.values())[:BUDGETS_LIMIT]
