"""Retention: entries are pruned, rollups stay, and queries that need pruned entries fail."""

from dataclasses import replace

import pytest
from sqlalchemy import Engine

from app.ledger.posting import Ledger
from app.ledger.reconcile import day_ranges, differences, rebuild
from app.ledger.reports.query import UsageQuery
from app.ledger.reports.reader import UsageReader
from app.ledger.retention import count_older, prune, pruned_until_s
from app.ledger.slots import DAY_S
from app.storage.sql.transactions import reading
from app.vocabulary.errors import UsagePruned
from tests.ledger.ledgers import DAY, MIDNIGHT_S, at, requests

TWO_DAYS = UsageQuery(MIDNIGHT_S - DAY_S, MIDNIGHT_S + DAY_S)


@pytest.fixture
def pruned(engine: Engine) -> Engine:
    """A ledger of two days with 24 requests each, whose first day was pruned."""
    Ledger(engine).post(at(hour * 3600 + 7, user="u") for hour in range(-24, 24))
    assert count_older(engine, MIDNIGHT_S + 5_000) == 24
    assert list(prune(engine, MIDNIGHT_S + 5_000, 10)) == [10, 10, 4]
    return engine


def test_sums_stay_as_they_were(pruned: Engine) -> None:
    reader = UsageReader(pruned)
    assert requests(reader.rows(TWO_DAYS)) == 48
    hours = reader.rows(replace(TWO_DAYS, bucket_s=3600, group_by=("account", "model")))
    assert [row.requests for row in hours] == [1] * 48
    assert requests(reader.rows(replace(TWO_DAYS, start_s=TWO_DAYS.start_s + 900))) == 47
    assert requests(reader.rows(replace(DAY, group_by=("user",)))) == 24


@pytest.mark.parametrize(
    "query",
    [
        replace(TWO_DAYS, group_by=("user",)),
        replace(TWO_DAYS, users=frozenset({"u"})),
        replace(TWO_DAYS, bucket_s=60),
        replace(TWO_DAYS, start_s=TWO_DAYS.start_s + 1),
        UsageQuery(MIDNIGHT_S - 60, MIDNIGHT_S - 1),
    ],
)
def test_queries_that_need_pruned_entries_fail(pruned: Engine, query: UsageQuery) -> None:
    with pytest.raises(UsagePruned, match="15-minute totals"):
        UsageReader(pruned).rows(query)


def test_pruned_days_are_not_compared_and_a_rebuild_keeps_them(pruned: Engine) -> None:
    assert [it for days in day_ranges(pruned, 5) for it in rebuild(pruned, days)] == []
    assert [it for days in day_ranges(pruned, 5) for it in differences(pruned, days)] == []
    assert requests(UsageReader(pruned).rows(TWO_DAYS)) == 48


def test_pruning_less_than_before_changes_nothing(pruned: Engine) -> None:
    assert list(prune(pruned, MIDNIGHT_S - 5 * DAY_S)) == []
    with reading(pruned) as connection:
        assert pruned_until_s(connection) == MIDNIGHT_S


def test_the_next_prune_finishes_an_interrupted_one(engine: Engine) -> None:
    Ledger(engine).post(at(-n - 1) for n in range(20))
    steps = prune(engine, MIDNIGHT_S, 5)
    assert next(steps) == 5
    steps.close()  # type: ignore[attr-defined]
    with pytest.raises(UsagePruned):
        UsageReader(engine).rows(replace(TWO_DAYS, group_by=("user",)))
    assert sum(prune(engine, MIDNIGHT_S, 5)) == 15
    assert requests(UsageReader(engine).rows(TWO_DAYS)) == 20


def test_a_late_event_of_a_pruned_day_still_counts(pruned: Engine) -> None:
    assert Ledger(pruned).post([at(-5)]) == 1
    assert requests(UsageReader(pruned).rows(TWO_DAYS)) == 49
