"""How far the ledger is complete, as far as one Redis knows."""

import pytest
from redis import Redis

from app.storage.redis.keys import STARTED
from app.usage.completeness import complete_until_ms
from app.usage.missing import Missing, Search
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.processes import Processes

GAP = Missing("web-1", 1, 1, 4_000, 9_000, 0)


def until_ms(redis: "Redis") -> float | None:
    return complete_until_ms(OpenRecords(redis), Processes(redis))


def test_nothing_is_known_before_a_search(redis: "Redis") -> None:
    assert until_ms(redis) is None


@pytest.mark.parametrize(
    ("started_ms", "search", "expected_ms"),
    [
        (None, Search(6_000), 6_000),
        (None, Search(6_000, (GAP,)), 4_000),
        (5_000, Search(6_000), 5_000),
        (5_000, Search(6_000, (GAP,)), 4_000),
    ],
)
def test_the_earliest_of_searched_missing_and_started_before_counts(
    redis: "Redis", started_ms: int | None, search: Search, expected_ms: int
) -> None:
    if started_ms is not None:
        redis.zadd(STARTED, {"of the version before": started_ms})
    Processes(redis).store({}, search)
    assert until_ms(redis) == expected_ms
