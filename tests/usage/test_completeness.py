"""How far the ledger is complete, as far as one Redis knows."""

import time

import pytest
from redis import Redis

from app.usage.completeness import complete_until_ms
from app.usage.missing import Missing, Search
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.processes import Processes

TIMEOUT_S = 2.0
NOW_MS = 2**45


def until_ms(redis: "Redis") -> float | None:
    return complete_until_ms(OpenRecords(redis), Processes(redis), TIMEOUT_S)


def test_nothing_is_known_before_a_search(redis: "Redis") -> None:
    assert until_ms(redis) is None


@pytest.mark.parametrize(
    ("started_ms", "search", "expected_ms"),
    [
        (5_000, Search(NOW_MS), 5_000),
        (None, Search(6_000), 6_000),
        (5_000, Search(NOW_MS, (Missing("web-1", 1, 1, 4_000, 9_000, 0),)), 4_000),
    ],
)
def test_the_earliest_of_open_searched_and_missing_counts(
    redis: "Redis", started_ms: int | None, search: Search, expected_ms: int
) -> None:
    if started_ms is not None:
        OpenRecords(redis).reopen("e1", b"{}", started_ms, "", 0)
    Processes(redis).store({}, search)
    assert until_ms(redis) == expected_ms


def test_a_request_that_is_just_being_opened_may_not_be_known(redis: "Redis") -> None:
    Processes(redis).store({}, Search(NOW_MS))
    found_ms = until_ms(redis)
    assert found_ms is not None
    assert found_ms <= (time.time() - TIMEOUT_S) * 1000
