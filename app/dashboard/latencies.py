"""How requests ended and how fast vendors responded, for a table each. No I/O."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from app.ledger import histogram
from app.ledger.reports.latencies import LatencyRow
from app.vocabulary.statuses import FAILED_STATUSES

#: Failures with their own line; the others are added up.
FAILURES_LIMIT = 12

#: The median, and the percentile beside it.
PERCENTS = (50, 95)

Times = tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class VendorLatency:
    """How the requests that a vendor served ended, and its latencies: PERCENTS of those completed.

    `failed_over` of the requests for this vendor were served by another one, after this one failed.
    """

    vendor: str
    requests: int
    errors: int
    failed_over: int
    first_token_ms: Times
    duration_ms: Times


@dataclass(frozen=True, slots=True)
class Failure:
    """The number of requests of a vendor that ended with a status other than `completed`."""

    vendor: str
    status: str
    http_status: int | None
    requests: int


def latencies(rows: Iterable[LatencyRow]) -> list[VendorLatency]:
    """Return the latencies of each vendor; if there are several, those of all vendors first."""
    rows = list(rows)
    by_vendor: defaultdict[str, list[LatencyRow]] = defaultdict(list)
    for row in rows:
        by_vendor[row.vendor_served].append(row)
    failed_over = Counter[str]()
    for row in rows:
        if row.vendor != row.vendor_served:
            failed_over[row.vendor] += row.requests
    names = sorted(by_vendor.keys() | failed_over.keys())
    of_each = [_latency(name, by_vendor[name], failed_over[name]) for name in names]
    if len(of_each) == 1:
        return of_each
    return [_latency("all", rows, failed_over.total()), *of_each]


def _latency(vendor: str, rows: list[LatencyRow], failed_over: int) -> VendorLatency:
    return VendorLatency(
        vendor,
        sum(row.requests for row in rows),
        sum(row.requests for row in rows if row.status in FAILED_STATUSES),
        failed_over,
        _times(sum(row.first_token for row in rows)),
        _times(sum(row.duration for row in rows)),
    )


def _times(times: int) -> Times:
    median, high = histogram.percentiles(times, *PERCENTS)
    return median, high


def failures(rows: Iterable[LatencyRow]) -> list[Failure]:
    """Return the requests that did not complete, by vendor and status, the most frequent first."""
    ways = Counter[tuple[str, str, int | None]]()
    for row in rows:
        if row.status != "completed":
            ways[row.vendor_served, row.status, row.http_status] += row.requests
    found = [Failure(*way, requests) for way, requests in ways.items()]
    return sorted(found, key=lambda it: (-it.requests, it.vendor, it.status, it.http_status or 0))
