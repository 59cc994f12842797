"""Latencies and failures of the last requests."""

from app.dashboard.latencies import failures, latencies
from app.ledger.reports.recent import RequestOutcome


def outcome(vendor: str, status: str = "completed", duration_ms: int = 90) -> RequestOutcome:
    return RequestOutcome(vendor, status, 200, 40, duration_ms)  # type: ignore[arg-type]


def test_only_completed_requests_show_how_fast_a_vendor_is() -> None:
    (found,) = latencies([outcome("a"), outcome("a", "failed", 9000), outcome("a", "truncated")])
    assert (found.requests, found.errors) == (3, 1)
    assert found.duration_ms == (90, 90)


def test_several_vendors_have_a_line_for_all() -> None:
    assert [it.vendor for it in latencies([outcome("b"), outcome("a")])] == ["all", "a", "b"]


def test_the_most_frequent_failures_come_first() -> None:
    outcomes = [outcome("a", "failed"), *[outcome("b", "truncated")] * 2, outcome("b")]
    assert [(it.vendor, it.requests) for it in failures(outcomes)] == [("b", 2), ("a", 1)]
