"""Latencies and failures of the last requests, by the vendor that served them. No I/O."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from app.ledger.reports.recent import RequestOutcome, known, percentile
from app.usage.messages.event import Status


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
class Failure:
    """The number of requests of a vendor that ended with a status other than `completed`."""

    vendor: str
    status: Status
    http_status: int | None
    requests: int


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
        sum(it.status == "failed" for it in outcomes),
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
