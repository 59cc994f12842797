"""A month of the calendar."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from app.ledger.invoices.month import Month


def at(*moment: int) -> int:
    return int(datetime(*moment, tzinfo=UTC).timestamp())  # type: ignore[misc, arg-type]


def test_a_month_ends_where_the_next_begins() -> None:
    december = Month(2026, 12)
    assert (december.start_s, december.end_s) == (at(2026, 12, 1), at(2027, 1, 1))
    assert str(december) == "2026-12"
    assert Month(2026, 11).end_s == december.start_s


def test_a_month_begins_at_local_midnight_on_both_sides_of_a_clock_change() -> None:
    october = Month(2026, 10, ZoneInfo("Europe/Zurich"))
    assert (october.start_s, october.end_s) == (at(2026, 9, 30, 22), at(2026, 10, 31, 23))
