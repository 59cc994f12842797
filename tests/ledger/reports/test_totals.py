"""Totals of a range, read in steps."""

from datetime import UTC, tzinfo
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Engine

from app.ledger.posting import Ledger
from app.ledger.reports.query import GroupKey, UsageQuery
from app.ledger.reports.reader import UsageReader
from app.ledger.reports.totals import merged, read_step, steps_of
from app.ledger.slots import DAY_S
from tests.ledger.ledgers import MIDNIGHT_S, at

START_S, END_S = MIDNIGHT_S - 1_000, MIDNIGHT_S + 3 * DAY_S + 5
ZURICH = ZoneInfo("Europe/Zurich")


@pytest.mark.parametrize("zone", [UTC, ZURICH], ids=str)
@pytest.mark.parametrize("width_s", [None, 3_600, DAY_S])
@pytest.mark.parametrize("group_by", [("model",), ("model", "user"), ("status",)])
def test_steps_have_every_request_once(
    engine: Engine, zone: tzinfo, width_s: int | None, group_by: tuple[GroupKey, ...]
) -> None:
    Ledger(engine).post(
        at(n * 7_000 - 1_000, user=f"u{n % 3}", status=("completed", "failed")[n % 2])
        for n in range(37)
    )
    query, reader = UsageQuery(START_S, END_S, group_by=group_by), UsageReader(engine)
    steps = steps_of(query, width_s, zone)
    assert (len(steps) > 1) == query.needs_entries
    assert (steps[0][0].start_s, steps[-1][-1].end_s) == (START_S, END_S)
    rows = merged(row for step in steps for row in read_step(reader, query, step, width_s))
    whole = {(it.model, it.user, it.status): it.requests for it in reader.rows(query)}
    found: dict[tuple[str | None, ...], int] = {}
    for row in rows:
        key = (row.model, row.user, row.status)
        found[key] = found.get(key, 0) + row.requests
    assert found == whole
    assert sum(whole.values()) == 37
    assert (width_s is None) == all(row.bucket_start_s is None for row in rows)


def test_a_step_of_entries_is_a_day_at_most() -> None:
    query = UsageQuery(START_S, END_S, statuses=frozenset({"failed"}))
    for width_s in (None, 3_600, DAY_S):
        lengths = [it[-1].end_s - it[0].start_s for it in steps_of(query, width_s)]
        assert max(lengths) == DAY_S
