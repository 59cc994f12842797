"""CSV files of what a page shows, with the same filters and unrounded figures."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Any

from flask import Response

from app.accounts.audit_text import detail_text
from app.dashboard.aggregates import grouped
from app.dashboard.filters import GROUPS
from app.dashboard.formatting import iso_moment
from app.dashboard.latencies import Failure, VendorLatency
from app.dashboard.usage_view import UsageView
from app.ledger.reports.csv_cells import BYTE_ORDER_MARK, csv_line
from app.ledger.reports.query import UsageRow
from app.ledger.reports.recent import Request
from app.ledger.reports.refusals import RefusalRow
from app.ledger.reports.request_columns import REQUEST_COLUMNS, request_values
from app.storage.sql.audit import AuditEntry
from app.vocabulary.completion import USAGE_COUNTS
from app.vocabulary.money import dollars

_FIGURES = ("requests", "failed_requests", *USAGE_COUNTS, "cost_usd", "unpriced_requests")

#: The names of PERCENTS.
_POINTS = ("median", "p95")

Line = Iterable[Any]


def csv_file(name: str, lines: Iterable[Line]) -> Response:
    """Return a response that a browser saves as `tollgate-NAME.csv`."""
    text = BYTE_ORDER_MARK + "".join(csv_line(line) for line in lines)
    response = Response(text, mimetype="text/csv")
    response.headers["content-disposition"] = f'attachment; filename="tollgate-{name}.csv"'
    response.headers["cache-control"] = "no-store"
    return response


def total_lines(view: UsageView) -> Iterator[Line]:
    """Yield the groups' totals, as in the page's table."""
    yield (view.filters.by, *_FIGURES)
    for group in view.groups:
        yield (group.label, *_figures(group.sums))
    yield ("Total", *_figures(view.total))


def series_lines(view: UsageView) -> Iterator[Line]:
    """Yield the charts' values: a line for each bar and group that has requests."""
    yield ("from", view.filters.by, *_FIGURES)
    bars_s = view.filters.range.bars_s
    in_bars: list[list[UsageRow]] = [[] for _ in bars_s]
    for time_s, row in view.rows:
        if bars_s[0] <= time_s < view.filters.range.end_s:
            in_bars[bisect_right(bars_s, time_s) - 1].append(row)
    for start_s, rows in zip(bars_s, in_bars, strict=True):
        for group in grouped(rows, GROUPS[view.filters.by]):
            start = iso_moment(start_s * 1000, view.filters.range.zone)
            yield (start, group.label, *_figures(group.sums))


def request_lines(requests: Iterable[Request], zone: Any) -> Iterator[Line]:
    """Yield the requests of a list."""
    yield REQUEST_COLUMNS
    for it in requests:
        yield request_values(it, zone).values()


def latency_lines(latencies: Iterable[VendorLatency]) -> Iterator[Line]:
    """Yield how many requests of each vendor failed, and how long the completed ones took."""
    times = [f"{name}_{point}_ms" for name in ("first_token", "duration") for point in _POINTS]
    yield ("vendor", "requests", "failed_requests", "failed_over", *times)
    for it in latencies:
        counts = (it.vendor, it.requests, it.errors, it.failed_over)
        yield (*counts, *it.first_token_ms, *it.duration_ms)


def failure_lines(failures: Iterable[Failure]) -> Iterator[Line]:
    """Yield how the requests ended that did not complete."""
    yield ("vendor", "status", "http_status", "requests")
    for it in failures:
        yield (it.vendor, it.status, it.http_status, it.requests)


def refusal_lines(rows: Iterable[RefusalRow]) -> Iterator[Line]:
    """Yield the refused requests by reason, account and key."""
    yield ("reason", "account", "key", "refused_requests")
    for it in rows:
        yield (it.reason, it.account_id, it.api_key_id, it.requests)


def audit_lines(entries: Iterable[AuditEntry], zone: Any) -> Iterator[Line]:
    """Yield the changes of a page of the audit trail."""
    yield ("time", "actor", "by", "action", "accounts", "key", "detail")
    for it in entries:
        accounts, detail = " ".join(it.change.account_ids), detail_text(it.change.detail)
        about = (it.change.action, accounts, it.change.api_key_id, detail)
        yield (iso_moment(it.at_ms, zone), it.actor, it.channel, *about)


def _figures(sums: UsageRow) -> Line:
    known = sums.known_cost_nanousd
    return (
        sums.requests,
        sums.failed_requests,
        *(getattr(sums.usage, name) for name in USAGE_COUNTS),
        None if known is None else dollars(known),
        sums.unpriced_requests,
    )
