"""The events of crashed processes' open records."""

from typing import Any

import orjson
import pytest
from redis import Redis

from app.admission.numbering import Numbering
from app.pricing.price_book import load_prices
from app.storage.redis.keys import DEAD, EVENTS, OPEN, RESERVED, STARTED
from app.usage.messages.event import UsageEvent
from app.usage.messages.open_record import OpenRecord
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.processes import Processes
from tests.support.events import DEFAULTS, open_record
from workers.reaper import YOUNG_MS, abandoned, reap


def record(**changes: Any) -> OpenRecord:
    """A record of a crashed process, before its first checkpoint."""
    return open_record(**{"owner": "a crashed process", "prompt_chars": 41} | changes)


def test_before_a_checkpoint_the_prompt_is_estimated_by_its_length() -> None:
    event = abandoned(record())
    assert (event.status, event.source, event.prompt_tokens, event.total_tokens) == (
        "abandoned",
        "estimated",
        11,
        11,
    )
    assert (event.prompt_source, event.completion_source) == ("estimated", "estimated")


def test_the_endpoint_and_every_count_are_those_of_the_record() -> None:
    counts = {
        "image_prompt_tokens": 4,
        "image_completion_tokens": 2,
        "cache_write_1h_tokens": 3,
        "web_search_calls": 1,
    }
    event = abandoned(record(endpoint="chat.completions", prompt_tokens=9, **counts))
    assert event.endpoint == "chat.completions"
    assert {name: getattr(event, name) for name in counts} == counts
    before = orjson.loads(record().encode())
    assert "endpoint" not in before  # as the version before writes it
    assert abandoned(OpenRecord.decode(orjson.dumps(before))).endpoint == "completions"


def test_what_the_vendor_has_counted_stays_the_vendors_and_the_rest_is_estimated() -> None:
    """Anthropic reports the prompt first; Tollgate counts the text that came since."""
    told = {
        "prompt_tokens": 2010,
        "cached_tokens": 2000,
        "cache_write_tokens": 5,
        "completion_tokens": 7,
        "prompt_source": "vendor",
        "completion_source": "estimated",
        "service_tier": "priority",
    }
    event = abandoned(record(**told))
    assert (event.prompt_tokens, event.cached_tokens, event.cache_write_tokens) == (2010, 2000, 5)
    assert (event.completion_tokens, event.total_tokens) == (7, 2017)
    assert (event.prompt_source, event.completion_source) == ("vendor", "estimated")
    assert (event.source, event.service_tier) == ("estimated", "priority")


def test_a_record_of_an_impossible_time_is_a_dead_letter_and_stops_no_other(
    redis: "Redis",
) -> None:
    """Its process had a clock that was wrong by thousands of years."""
    for event_id, started_at_ms in (("e1", 2**48 - 1), ("e2", 1_780_000_000_000)):
        it = record(event_id=event_id, vendor="deepseek", started_at_ms=started_at_ms)
        redis.hset(OPEN, event_id, it.encode())
    records = OpenRecords(redis)
    assert reap(records, prices=load_prices()) == 2
    assert records.all() == {}
    assert (redis.xlen(EVENTS), redis.xlen(DEAD)) == (1, 1)


def test_a_request_whose_both_sides_the_vendor_has_counted_is_no_estimate() -> None:
    sides = {"prompt_source": "vendor", "completion_source": "vendor"}
    event = abandoned(record(**sides, prompt_tokens=3, completion_tokens=0))
    assert (event.source, event.total_tokens) == ("vendor", 3)


def test_sides_of_a_checkpoint_without_sources_are_estimates() -> None:
    event = abandoned(record(prompt_tokens=9, completion_tokens=4, attempts=1))
    assert (event.prompt_tokens, event.completion_tokens, event.source) == (9, 4, "estimated")
    assert (event.prompt_source, event.completion_source) == ("estimated", "estimated")


@pytest.mark.parametrize("source", ["none", "estimated", "later_word"])
def test_a_side_is_the_vendors_only_if_the_record_says_so(source: str) -> None:
    event = abandoned(record(prompt_tokens=9, prompt_source=source))
    assert event.prompt_source == "estimated"
    without_tokens = abandoned(record(prompt_source="vendor"))
    assert (without_tokens.prompt_source, without_tokens.prompt_tokens) == ("estimated", 11)


NOW_MS = DEFAULTS["started_at_ms"] + 3_600_000


@pytest.fixture
def records(redis: "Redis") -> OpenRecords:
    return OpenRecords(redis)


def opened(records: OpenRecords, event_id: str, owner: str | None, age_ms: int = 60_000) -> None:
    """Write the open record of a request that began `age_ms` before NOW_MS."""
    started_at_ms = NOW_MS - age_ms
    known = record(event_id=event_id, owner=owner, started_at_ms=started_at_ms)
    records.reopen(event_id, known.encode(), "", 0)


def test_only_records_of_the_dead_that_are_not_young_are_reaped(
    records: OpenRecords, redis: "Redis"
) -> None:
    Processes(redis).heartbeat(Numbering("alive"))
    opened(records, "lives", "alive")
    opened(records, "died", "dead")
    opened(records, "disowned", None)
    opened(records, "young", "dead", age_ms=YOUNG_MS - 1)
    opened(records, "just old enough", "dead", age_ms=YOUNG_MS)
    opened(records, "of this instant", "dead", age_ms=0)
    opened(records, "of a clock that runs ahead", "dead", age_ms=-1)
    assert reap(records, NOW_MS) == 4
    assert set(records.all()) == {"lives", "young", "of this instant"}
    entries: Any = redis.xrange(EVENTS)
    reaped = [UsageEvent.decode(record[b"event"]) for _, record in entries]
    assert {event.event_id for event in reaped} == {
        "died",
        "disowned",
        "just old enough",
        "of a clock that runs ahead",
    }
    assert {event.status for event in reaped} == {"abandoned"}


def test_what_nobody_waits_for_holds_up_no_completeness_for_more_than_a_minute(
    records: OpenRecords, redis: "Redis"
) -> None:
    """A request of the version before whose event is lost, or dead, is neither open nor waiting."""
    redis.zadd(STARTED, {"old": NOW_MS - 60_001, "recent": NOW_MS - 59_999})
    reap(records, NOW_MS)
    assert redis.zrange(STARTED, 0, -1) == [b"recent"]


def test_what_is_reserved_for_no_open_request_is_given_back(
    records: OpenRecords, redis: "Redis"
) -> None:
    Processes(redis).heartbeat(Numbering("alive"))
    opened(records, "lives", "alive")
    checks = [{"kind": "streams", "key": "limits:acme:streams", "limit": 5, "amount": 1}]
    for event_id in ("lives", "gone"):
        redis.hset(RESERVED, event_id, orjson.dumps(checks))
        redis.sadd("limits:acme:streams", event_id)
    assert reap(records, NOW_MS) == 0
    assert redis.hkeys(RESERVED) == [b"lives"]
    assert redis.smembers("limits:acme:streams") == {b"lives"}
