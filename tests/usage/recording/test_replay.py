"""Replay: what the spool holds reaches a real Valkey."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from app.pricing.price_book import NO_PRICES, PriceBook
from app.storage.redis.connection import connect
from app.storage.redis.keys import EVENTS, STARTED
from app.usage.messages.event import UsageEvent
from app.usage.recording.fallback import SpoolFallback
from app.usage.recording.replay import Replay
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.stores import Stores
from app.usage.redis.stream import EventStream
from app.vocabulary.errors import StreamFull, StreamUnavailable
from tests.support.events import open_record, usage_event
from tests.support.services.full import memory
from tests.support.services.valkey import Valkey
from workers.reaper import reap


@pytest.fixture
def redis(redis_url: str) -> Iterator["Redis"]:
    with Redis.from_url(redis_url) as redis:
        yield redis


@pytest.fixture
def fallback(tmp_path: Path) -> SpoolFallback:
    """The spool of the process `us`."""
    return SpoolFallback(tmp_path / "spool", "us")


def replay_of(redis: "Redis", *live: str, prices: PriceBook | None = None) -> Replay:
    """The replay of the process `us`, in which the requests `live` have not finished."""
    return Replay(Stores.of(redis), owner="us", live=set(live), prices=prices)


def published(redis: "Redis") -> list[UsageEvent]:
    entries: Any = redis.xrange(EVENTS)
    return [UsageEvent.decode(entry[b"event"]) for _, entry in entries]


@pytest.mark.parametrize("prices", [None, NO_PRICES], ids=["no limits", "limits"])
def test_spooled_and_unwritten_events_are_published_and_removed(
    redis: "Redis", fallback: SpoolFallback, tmp_path: Path, prices: PriceBook | None
) -> None:
    kept, spooled = usage_event(), usage_event()
    fallback.unwritten[kept.event_id] = kept.encode()
    fallback.write_event(spooled.event_id, spooled.encode())
    replay_of(redis, prices=prices).run(fallback)
    assert published(redis) == [kept, spooled]
    assert fallback.is_empty
    assert list((tmp_path / "spool").iterdir()) == []


def test_a_request_that_is_still_live_is_opened(redis: "Redis", fallback: SpoolFallback) -> None:
    live = open_record(event_id="live", owner="us", started_at_ms=7)
    finished = open_record(event_id="finished", owner="us")
    for record in (live, finished):
        fallback.write("open", record.encode())
    replay_of(redis, "live").run(fallback)
    assert OpenRecords(redis).all() == {"live": live.encode()}
    assert redis.zscore(STARTED, "live") == 7


def test_a_request_whose_event_is_in_the_same_file_is_not_opened(
    redis: "Redis", fallback: SpoolFallback
) -> None:
    event = usage_event(event_id="e1")
    fallback.write("open", open_record(event_id="e1", owner="crashed").encode())
    fallback.write("event", event.encode())
    replay_of(redis).run(fallback)
    assert published(redis) == [event]
    assert OpenRecords(redis).count() == 0


def test_a_request_of_a_crashed_process_is_opened_for_the_reaper(
    redis: "Redis", fallback: SpoolFallback, tmp_path: Path
) -> None:
    record = open_record(event_id="theirs", owner="crashed", prompt_chars=8)
    (tmp_path / "spool").mkdir()
    (tmp_path / "spool" / "crashed.1.jsonl").write_bytes(b'{"open":%s}\n' % record.encode())
    replay_of(redis).adopt(fallback)
    assert list((tmp_path / "spool").iterdir()) == []
    assert reap(OpenRecords(redis)) == 1
    (event,) = published(redis)
    assert (event.event_id, event.status, event.prompt_tokens) == ("theirs", "abandoned", 2)


def test_a_record_that_cannot_be_decoded_becomes_a_dead_letter_and_stops_no_other(
    redis: "Redis", fallback: SpoolFallback
) -> None:
    fallback.write("open", b'{"event_id":"odd","owner":5}')
    fallback.write("event", usage_event().encode())
    replay_of(redis).run(fallback)
    assert len(published(redis)) == 1
    reap(OpenRecords(redis))
    assert EventStream(redis).dead_count() == 1


def test_an_event_that_cannot_be_decoded_is_published_for_the_consumer_to_reject(
    redis: "Redis", fallback: SpoolFallback
) -> None:
    fallback.write("event", b'{"event_id":"odd"}')
    replay_of(redis, prices=NO_PRICES).run(fallback)
    entries: Any = redis.xrange(EVENTS)
    assert [entry[b"event"] for _, entry in entries] == [b'{"event_id":"odd"}']


def test_without_redis_everything_stays_where_it_is(
    fallback: SpoolFallback, tmp_path: Path
) -> None:
    kept = usage_event()
    with connect("redis://127.0.0.1:1/0", timeout_s=1.0) as nowhere:
        fallback.write("event", usage_event().encode())
        with pytest.raises(StreamUnavailable):
            replay_of(nowhere).run(fallback)
        assert len(list((tmp_path / "spool").iterdir())) == 1
        fallback.unwritten[kept.event_id] = kept.encode()
        with pytest.raises(StreamUnavailable):
            replay_of(nowhere).run(fallback)
    assert fallback.unwritten == {kept.event_id: kept.encode()}


def test_a_replay_that_fills_redis_goes_on_where_it_stopped(
    own_valkey: Valkey, fallback: SpoolFallback
) -> None:
    """A file larger than the room that workers make would otherwise never be through."""
    spooled = [usage_event() for _ in range(600)]
    for event in spooled:
        fallback.write("event", event.encode())
    posted: list[UsageEvent] = []
    with Redis.from_url(own_valkey.url) as redis:
        replay = replay_of(redis)
        redis.config_set("maxmemory", memory(redis) + 200_000)
        while not fallback.is_empty:
            with contextlib.suppress(StreamFull):
                replay.run(fallback)
            posted += published(redis)  # as a worker does
            redis.xtrim(EVENTS, 0)
    assert posted == spooled


def test_a_replay_that_another_outage_interrupts_begins_again(
    own_valkey: Valkey, fallback: SpoolFallback
) -> None:
    """What Redis had may be lost with it."""
    spooled = [usage_event() for _ in range(600)]
    for event in spooled:
        fallback.write("event", event.encode())
    with Redis.from_url(own_valkey.url) as redis:
        replay = replay_of(redis)
        redis.config_set("maxmemory", memory(redis) + 200_000)
        with pytest.raises(StreamFull):
            replay.run(fallback)
        redis.config_set("maxmemory", 0)
        redis.replicaof("127.0.0.1", 1)
        with pytest.raises(StreamUnavailable):
            replay.run(fallback)
        redis.replicaof("no", "one")
        redis.flushall()
        replay.run(fallback)
        assert published(redis) == spooled
