"""Pages of buckets, filled from the ledger."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Engine, event

from app.ledger.posting import Ledger
from app.ledger.reports.buckets import buckets
from app.ledger.reports.pages import fill
from app.ledger.reports.query import UsageQuery
from app.ledger.reports.reader import UsageReader
from app.ledger.slots import DAY_S, HOUR_S
from tests.ledger.ledgers import DAY, MIDNIGHT_S, at
from tests.support.events import usage_event

#: Clocks go back on 2026-10-25, which has 25 hours, and forward on 2026-03-29, which has 23.
BERLIN = ZoneInfo("Europe/Berlin")


@pytest.fixture
def statements(engine: Engine) -> Iterator[list[str]]:
    """The queries of usage that the engine runs."""
    seen: list[str] = []

    def note(*arguments: object) -> None:
        if "rollups" in str(arguments[2]):
            seen.append(str(arguments[2]))

    event.listen(engine, "before_cursor_execute", note)
    yield seen
    event.remove(engine, "before_cursor_execute", note)


def local(zone: tzinfo, *day: int) -> int:
    return int(datetime(*day, tzinfo=zone).timestamp())  # type: ignore[arg-type, misc]


def counts(engine: Engine, start_s: int, end_s: int, width_s: int, zone: tzinfo) -> dict[int, int]:
    """Return the requests of each bucket that has any, by the bucket's start."""
    page = list(buckets(start_s, end_s, width_s, zone))
    query = UsageQuery(0, 0)  # the page has the range
    filled = fill(UsageReader(engine), query, page, width_s)
    assert filled.keys() <= {bucket.start_s for bucket in page}
    return {start: sum(row.requests for row in rows) for start, rows in filled.items()}


@pytest.mark.parametrize(("day", "hours"), [((2026, 10, 25), 25), ((2026, 3, 29), 23)])
def test_a_day_on_which_clocks_change_has_all_its_hours(
    engine: Engine, statements: list[str], day: tuple[int, int, int], hours: int
) -> None:
    start_s = local(BERLIN, *day) - DAY_S
    end_s = start_s + (48 + hours) * HOUR_S
    times_s = range(start_s, end_s, HOUR_S)
    Ledger(engine).post(usage_event(started_at_ms=time_s * 1000) for time_s in times_s)
    statements.clear()
    found = counts(engine, start_s, end_s, DAY_S, BERLIN)
    after_s = start_s + DAY_S + hours * HOUR_S
    assert found == {start_s: 24, start_s + DAY_S: hours, after_s: 24}
    assert len(statements) > 1


def test_a_page_in_utc_takes_one_query(engine: Engine, statements: list[str]) -> None:
    Ledger(engine).post(at(second) for second in (0, HOUR_S, DAY_S))
    statements.clear()
    found = counts(engine, MIDNIGHT_S, MIDNIGHT_S + 2 * DAY_S, DAY_S, UTC)
    assert found == {MIDNIGHT_S: 2, MIDNIGHT_S + DAY_S: 1}
    assert len(statements) == 1


def test_a_page_that_starts_and_ends_inside_buckets_has_them_in_part(engine: Engine) -> None:
    Ledger(engine).post(at(second) for second in (0, 1800, 5400, 7200 + 1800))
    start_s = MIDNIGHT_S + 900
    found = counts(engine, start_s, MIDNIGHT_S + 7200 + 1800, HOUR_S, UTC)
    assert found == {start_s: 1, MIDNIGHT_S + HOUR_S: 1}


def test_filters_and_groups_of_the_query_hold_for_each_bucket(engine: Engine) -> None:
    Ledger(engine).post(at(0, account_id=it, model=m) for it in ("a", "b") for m in ("x", "y"))
    query = replace(DAY, account_ids=frozenset({"a"}), group_by=("model",))
    page = list(buckets(MIDNIGHT_S, MIDNIGHT_S + DAY_S, DAY_S))
    filled = fill(UsageReader(engine), query, page, DAY_S)
    assert [(row.model, row.requests) for row in filled[MIDNIGHT_S]] == [("x", 1), ("y", 1)]
