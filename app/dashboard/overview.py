"""`GET /dashboard`: tokens, cost and errors over time, how fast vendors answer, what waits."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from flask import Response, request

from app.accounts.accounts import Accounts
from app.api.usage_pages import complete_until_s
from app.container import services
from app.dashboard.aggregates import Chart, OverTime, grouped, total
from app.dashboard.filters import GROUPS, Filters
from app.dashboard.sign_in import current_user
from app.dashboard.site import dashboard_blueprint, page
from app.ledger.reports.recent import SAMPLE, RecentReader, RequestOutcome, known, percentile
from app.usage.event import Status
from app.vocabulary.errors import StreamUnavailable

#: Ways of failing that have a line of their own.
FAILURES_LIMIT = 12


@dataclass(frozen=True, slots=True)
class VendorLatency:
    """How the last requests of a vendor ended, and in which time; None where there was none."""

    vendor: str
    requests: int
    errors: int
    first_token_ms: tuple[int | None, int | None]
    duration_ms: tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class Backlog:
    """What is on its way to the ledger, of all accounts and machines."""

    events: int
    oldest_ms: int | None
    open_requests: int
    dead_events: int


@dataclass(frozen=True, slots=True)
class Failure:
    """One way in which requests ended otherwise than they should, and how many did."""

    vendor: str
    status: Status
    http_status: int | None
    requests: int


@dashboard_blueprint.get("")
def overview() -> Response:
    """Show the sums of a range of days, by model, vendor or account."""
    now_s = time.time()
    filters = Filters.load(request.args, now_s)
    query = filters.query(current_user().account_ids, over_time=True)
    # Before the ledger is read: what is posted meanwhile can only make the figures more complete.
    until_s = complete_until_s()
    rows = services().usage_reader.rows(query)
    groups = grouped(rows, GROUPS[filters.by])
    endings = RecentReader(services().engine).outcomes(query)
    failed = failures(endings)
    times_s = range(filters.start_s, filters.end_s, filters.bucket_s)
    over_time = OverTime(rows, groups, GROUPS[filters.by], times_s, filters.bucket_s)
    return page(
        "overview.html",
        filters=filters,
        choices=choices(),
        total=total(rows),
        groups=groups,
        charts=_charts(over_time),
        speeds=speeds(endings),
        failures=failed[:FAILURES_LIMIT],
        failed_otherwise=sum(it.requests for it in failed[FAILURES_LIMIT:]),
        sampled=len(endings),
        is_sample=len(endings) == SAMPLE,
        complete_until_s=until_s,
        waiting=_waiting(now_s) if current_user().is_admin and until_s is not None else None,
    )


def choices() -> dict[str, list[str]]:
    """Return what filters offer: the accounts that may be seen, and the configured vendors."""
    mine = current_user().account_ids
    if mine is None:
        mine = frozenset(it.account_id for it in Accounts(services().engine).list())
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


def speeds(endings: Iterable[RequestOutcome]) -> list[VendorLatency]:
    """Return the speed of each vendor, and of all of them first, where there are several."""
    by_vendor: defaultdict[str, list[RequestOutcome]] = defaultdict(list)
    for ending in endings:
        by_vendor[ending.vendor].append(ending)
    of_each = [_speed(vendor, by_vendor[vendor]) for vendor in sorted(by_vendor)]
    if len(of_each) == 1:
        return of_each
    return [_speed("all", [it for each in by_vendor.values() for it in each]), *of_each]


def _speed(vendor: str, endings: list[RequestOutcome]) -> VendorLatency:
    # How fast a vendor fails, or a caller leaves, says nothing of how fast it answers.
    completed = [it for it in endings if it.status == "completed"]
    first_token_ms = known(it.first_token_ms for it in completed)
    duration_ms = [it.duration_ms for it in completed]
    return VendorLatency(
        vendor,
        len(endings),
        sum(it.status in ("failed", "truncated") for it in endings),
        (percentile(first_token_ms, 50), percentile(first_token_ms, 95)),
        (percentile(duration_ms, 50), percentile(duration_ms, 95)),
    )


def failures(endings: Iterable[RequestOutcome]) -> list[Failure]:
    """Return the ways in which requests did not complete, the most frequent first."""
    ways = Counter(
        (it.vendor, it.status, it.http_status) for it in endings if it.status != "completed"
    )
    found = [Failure(*way, requests) for way, requests in ways.items()]
    return sorted(found, key=lambda it: (-it.requests, it.vendor, it.status, it.http_status or 0))


def _waiting(now_s: float) -> Backlog | None:
    """Return what waits; None while Redis does not answer."""
    stream, records = services().stream, services().open_records
    try:
        oldest_ms = stream.oldest_ms()
        age_ms = None if oldest_ms is None else max(0, int(now_s * 1000) - oldest_ms)
        return Backlog(stream.backlog(), age_ms, records.count(), stream.dead_count())
    except StreamUnavailable:
        return None
