"""After an outage, the recorder finds out which requests Redis has forgotten, and since when."""

import time
from pathlib import Path

import pytest
from redis import Redis
from sqlalchemy import Engine

from app.ledger.posting import Ledger
from app.observability.missing_check import MissingCheck
from app.storage.redis.keys import EVENTS, OPEN
from app.usage.messages.open_record import OpenRecord
from app.usage.recording.recorder import Recorder
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.stream import EventStream
from app.vocabulary.completion import Usage
from app.vocabulary.errors import StreamUnavailable
from tests.support.services.polling import wait_until
from tests.support.services.valkey import Valkey
from tests.usage.recording.steps import answer, events, recorder_of, request
from workers.consumer import consume
from workers.reaper import reap


@pytest.fixture
def redis_url(own_valkey: Valkey) -> str:
    """Redis is the test's own here."""
    return own_valkey.url


def test_what_a_restored_redis_has_forgotten_is_estimated_and_not_lost(
    spooling: Recorder, own_valkey: Valkey, redis: "Redis"
) -> None:
    meter, live = request(spooling), request(spooling)
    restored = redis.hget(OPEN, meter.event_id) or b""
    answer(meter)
    redis.delete(EVENTS)  # the last second is lost: the event, and the removal of its record
    redis.hset(OPEN, meter.event_id, restored)
    own_valkey.kill()
    answer(request(spooling))
    own_valkey.start()

    def reaped() -> bool:
        return reap(OpenRecords(redis), now_ms=meter.started_at_ms + 60_000) == 1

    wait_until(reaped)
    abandoned = {event.event_id: event for event in events(redis)}[meter.event_id]
    assert (abandoned.status, abandoned.source) == ("abandoned", "estimated")
    assert list(OpenRecords(redis).all()) == [live.event_id]


def test_after_an_outage_a_process_disowns_its_own_requests_alone(
    books: Recorder, own_valkey: Valkey, redis: "Redis", tmp_path: Path
) -> None:
    others = recorder_of(own_valkey, tmp_path)
    theirs, ended = request(others), request(books)
    forgotten = redis.hget(OPEN, ended.event_id) or b""
    answer(ended)
    own_valkey.kill()
    live = request(books)  # which notices the outage
    own_valkey.start()
    redis.hset(OPEN, ended.event_id, forgotten)

    def owners() -> dict[str, str | None]:
        records = OpenRecords(redis).all()
        return {event_id: OpenRecord.decode(raw).owner for event_id, raw in records.items()}

    wait_until(lambda: owners().get(ended.event_id, "") is None)
    wait_until(lambda: live.event_id in owners())
    assert owners() == {
        ended.event_id: None,
        theirs.event_id: others.owner,
        live.event_id: books.owner,
    }
    others.close()


def test_the_oldest_of_the_requests_that_an_outage_meets_is_told(
    books: Recorder, own_valkey: Valkey
) -> None:
    old = request(books)
    wait_until(lambda: time.time_ns() // 1_000_000 > old.started_at_ms)
    new = request(books)
    assert books.oldest_spooled_ms is None
    own_valkey.kill()
    answer(new)
    assert books.oldest_spooled_ms == old.started_at_ms < new.started_at_ms


def test_an_outage_that_meets_no_request_began_when_it_was_noticed(
    own_valkey: Valkey, tmp_path: Path
) -> None:
    own_valkey.kill()
    books, before_ms = recorder_of(own_valkey, tmp_path), time.time_ns() // 1_000_000
    request(books)
    assert books.oldest_spooled_ms is not None
    assert before_ms <= books.oldest_spooled_ms <= time.time_ns() // 1_000_000
    books.close()


def test_a_request_that_began_without_redis_is_waited_for_from_its_start(
    books: Recorder, own_valkey: Valkey, redis: "Redis"
) -> None:
    own_valkey.kill()
    meter = request(books)
    own_valkey.start()
    wait_until(lambda: list(OpenRecords(redis).all()) == [meter.event_id])
    (opened,) = OpenRecords(redis).numbered()
    assert opened.started_at_ms == meter.started_at_ms


def test_a_request_that_was_rejected_costs_nothing_though_redis_opens_it_afterwards(
    own_valkey: Valkey, redis: "Redis", engine: Engine, tmp_path: Path
) -> None:
    """A paused server does, when it goes on, what nobody waits for any more."""
    books = recorder_of(own_valkey, tmp_path, serve_without_redis=False)
    answer(request(books))
    own_valkey.pause()
    with pytest.raises(StreamUnavailable):
        request(books)
    own_valkey.resume()
    now_ms = time.time_ns() // 1_000_000
    wait_until(lambda: reap(OpenRecords(redis), now_ms=now_ms + 60_000) == 1)
    rejected = events(redis)[-1]
    assert (rejected.status, rejected.number, rejected.usage) == ("abandoned", 2, Usage())
    consume(EventStream(redis), Ledger(engine), consumer="w")
    assert MissingCheck(redis, engine).find(now_ms + 120_000).missing == ()
    books.close()
