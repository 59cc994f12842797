"""Limits as values: which are valid, and their periods."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.vocabulary.limits import (
    BUDGET_LIMIT_NANOUSD,
    NUMBER_LIMIT,
    Limits,
    Period,
    period_end,
    period_start,
)


def limits(**changes: Any) -> Limits:
    return Limits(kind="account", subject_id="acme", **changes)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({}, None),
        ({"requests_per_minute": 1, "tokens_per_minute": NUMBER_LIMIT, "streams": 1}, None),
        ({"budget_nanousd": 0}, None),
        ({"budget_nanousd": BUDGET_LIMIT_NANOUSD, "soft_nanousd": BUDGET_LIMIT_NANOUSD}, None),
        ({"soft_nanousd": 1}, None),
        ({"requests_per_minute": 0}, "1 to 1,000,000,000: 0 is not"),
        ({"streams": -1}, "-1 is not"),
        ({"tokens_per_minute": NUMBER_LIMIT + 1}, "1,000,000,001 is not"),
        ({"budget_nanousd": -1}, "-$0.000000001 is not"),
        ({"budget_nanousd": BUDGET_LIMIT_NANOUSD + 1}, "$0 to $9,000,000.00"),
        ({"budget_nanousd": 5, "soft_nanousd": 6}, "soft bound"),
    ],
)
def test_limits_that_make_no_sense_say_so(changes: dict[str, Any], problem: str | None) -> None:
    found = limits(**changes).problem
    assert (found is None) if problem is None else (found is not None and problem in found)


def test_what_is_limited_is_known() -> None:
    assert not limits(period="day").is_any
    assert all(limits(**{name: 1}).is_any for name in ("streams", "soft_nanousd"))
    assert limits(soft_nanousd=1).has_budget
    assert not limits(streams=1).has_budget


@pytest.mark.parametrize(
    ("period", "at", "start", "end"),
    [
        ("day", "2026-02-28T23:59:59.999", "2026-02-28", "2026-03-01"),
        ("day", "2026-03-01T00:00:00", "2026-03-01", "2026-03-02"),
        ("month", "2026-01-31T12:00:00", "2026-01-01", "2026-02-01"),
        ("month", "2028-02-29T00:00:00", "2028-02-01", "2028-03-01"),
        ("month", "2026-12-31T23:59:59.999", "2026-12-01", "2027-01-01"),
    ],
)
def test_days_and_months_are_those_of_utc(period: Period, at: str, start: str, end: str) -> None:
    at_ms = int(datetime.fromisoformat(at).replace(tzinfo=UTC).timestamp() * 1000)
    found = period_start(period, at_ms)
    assert found == datetime.fromisoformat(start).replace(tzinfo=UTC)
    assert period_end(period, found) == datetime.fromisoformat(end).replace(tzinfo=UTC)


@given(st.sampled_from(["day", "month"]), st.integers(0, 4_000_000_000_000))
def test_a_period_holds_its_time_and_touches_the_next(period: Period, at_ms: int) -> None:
    start = period_start(period, at_ms)
    end = period_end(period, start)
    assert start.timestamp() * 1000 <= at_ms < end.timestamp() * 1000
    assert period_start(period, int(end.timestamp() * 1000)) == end
