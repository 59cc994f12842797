"""Tables made from latencies."""

from app.dashboard.latencies import Failure, VendorLatency, failures, latencies
from app.ledger import histogram
from app.ledger.reports.latencies import LatencyRow


def row(served: str, status: str = "completed", vendor: str = "", **changes: int) -> LatencyRow:
    times = histogram.of(10, 20) if status == "completed" else 0
    return LatencyRow(
        vendor=vendor or served,
        model="m",
        vendor_served=served,
        status=status,
        http_status=changes.get("http_status", 200),
        requests=changes.get("requests", 2),
        first_token=0,
        duration=times,
    )


def test_one_vendor_has_one_line() -> None:
    assert latencies([row("groq"), row("groq", "truncated", requests=1)]) == [
        VendorLatency("groq", 3, 1, 0, (None, None), (10, 20))
    ]
    assert [it.vendor for it in latencies([])] == ["all"]


def test_a_vendor_that_another_one_replaced_has_a_line() -> None:
    found = latencies([row("groq", vendor="openai"), row("groq", requests=1)])
    assert [(it.vendor, it.requests, it.failed_over) for it in found] == [
        ("all", 3, 2),
        ("groq", 3, 0),
        ("openai", 0, 2),
    ]


def test_failures_come_most_frequent_first() -> None:
    rows = [
        row("a", "failed", http_status=500, requests=1),
        row("b", "abandoned", requests=3),
        row("a", "failed", http_status=500, requests=1, vendor="b"),
        row("a"),
    ]
    assert failures(rows) == [Failure("b", "abandoned", 200, 3), Failure("a", "failed", 500, 2)]
