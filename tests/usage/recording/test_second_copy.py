"""Redis loses its memory in every way; what web processes keep on their disks is sent again."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from sqlalchemy import Engine, select

from app.ledger.posting import Ledger
from app.observability.missing_check import MissingCheck
from app.storage.redis.keys import EVENTS, GIVEN, OPEN
from app.storage.sql.tables import entries, processes
from app.usage.messages.event import UsageEvent
from app.usage.recording.recorder import Recorder
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.processes import Processes
from app.usage.redis.stream import EventStream
from app.vocabulary.errors import StreamUnavailable
from tests.support.services.polling import wait_until
from tests.support.services.valkey import Valkey
from tests.usage.recording.steps import answer, crash, events, recorder_of, request, still
from workers.consumer import consume
from workers.reaper import reap


@pytest.fixture
def redis_url(own_valkey: Valkey) -> str:
    """Redis is the test's own here."""
    return own_valkey.url


def numbers(found: list[UsageEvent]) -> list[int]:
    return sorted(event.number for event in found)


def flushed(_: Valkey, redis: "Redis") -> None:
    redis.flushall()


def restarted_empty(valkey: Valkey, redis: "Redis") -> None:
    redis.flushall()
    valkey.kill()
    valkey.start()


def restored_older(valkey: Valkey, redis: "Redis") -> None:
    """All that came after the first request is gone."""
    entries: Any = redis.xrange(EVENTS)
    redis.xdel(EVENTS, *[entry_id for entry_id, _ in entries[1:]])
    (process,) = Processes(redis).given()
    redis.hset(GIVEN, process, 1)
    valkey.kill()
    valkey.start()


LOSSES = [flushed, restarted_empty, restored_older]


def beat(books: Recorder) -> None:
    """Have a recorder send its next heartbeat now."""
    assert books.owner
    assert books._heartbeat_and_replay()


@pytest.mark.parametrize("lose", LOSSES)
def test_events_that_redis_has_lost_are_sent_again_once(
    books: Recorder, own_valkey: Valkey, redis: "Redis", lose: Callable[[Valkey, "Redis"], None]
) -> None:
    beat(books)
    for _ in range(5):
        answer(request(books))
    assert numbers(events(redis)) == [1, 2, 3, 4, 5]
    lose(own_valkey, redis)
    wait_until(books._heartbeat_and_replay)
    assert numbers(events(redis)) == [1, 2, 3, 4, 5]
    answer(request(books))
    beat(books)
    assert numbers(events(redis)) == [1, 2, 3, 4, 5, 6]


def test_requests_under_way_are_open_again_and_keep_their_numbers(
    books: Recorder, redis: "Redis"
) -> None:
    beat(books)
    first, second = request(books), request(books)
    redis.flushall()
    third = request(books)  # before anybody has noticed
    beat(books)
    assert set(OpenRecords(redis).all()) == {it.event_id for it in (first, second, third)}
    for meter in (third, first, second):
        answer(meter)
    assert redis.hlen(OPEN) == 0
    assert numbers(events(redis)) == [1, 2, 3]


def test_a_rejected_or_failed_opening_takes_no_number(
    own_valkey: Valkey, redis: "Redis", tmp_path: Path
) -> None:
    books = recorder_of(own_valkey, tmp_path, serve_without_redis=False)
    answer(request(books))
    own_valkey.kill()
    for _ in range(3):
        with pytest.raises(Exception, match="cannot be recorded"):
            request(books)
    own_valkey.start()
    wait_until(lambda: books._outage.is_up)
    answer(request(books))
    assert numbers(events(redis)) == [1, 2]
    books.close()


def test_requests_that_were_spooled_are_numbered_without_gaps(
    books: Recorder, own_valkey: Valkey, redis: "Redis"
) -> None:
    answer(request(books))
    own_valkey.kill()
    for _ in range(3):
        answer(request(books))
    own_valkey.start()
    wait_until(lambda: redis.xlen(EVENTS) >= 4)
    wait_until(lambda: books._outage.is_up)
    answer(request(books))
    assert sorted(set(numbers(events(redis)))) == [1, 2, 3, 4, 5]
    assert Processes(redis).given() == {books.owner: 5}


def test_what_a_dead_process_left_is_sent_by_another_and_kept_until_it_is_posted(
    own_valkey: Valkey, redis: "Redis", engine: Engine, tmp_path: Path
) -> None:
    dead = recorder_of(own_valkey, tmp_path)
    answered, unanswered = request(dead), request(dead)
    answer(answered)
    crash(dead)
    redis.flushall()
    heir = recorder_of(own_valkey, tmp_path)
    beat_of_heir = heir.owner
    wait_until(lambda: redis.xlen(EVENTS) == 1 and redis.hlen(OPEN) == 1)
    assert list((tmp_path / "spool").glob(f"{dead.owner}*.journal"))
    assert reap(OpenRecords(redis), now_ms=unanswered.started_at_ms + 60_000) == 1
    check = MissingCheck(redis, engine)
    consume(EventStream(redis), Ledger(engine), consumer="w")
    assert check.find(unanswered.started_at_ms).missing == ()
    beat(heir)
    assert not list((tmp_path / "spool").glob(f"{dead.owner}*.journal"))
    assert beat_of_heir == heir.owner
    heir.close()


def test_what_a_dead_process_had_spooled_has_a_second_copy_once_it_is_in_redis(
    own_valkey: Valkey, redis: "Redis", tmp_path: Path
) -> None:
    """Redis loses its memory before the reaper has seen the dead process' open requests."""
    dead = recorder_of(own_valkey, tmp_path)
    assert dead.owner
    own_valkey.kill()
    answer(request(dead))
    unanswered = request(dead)
    crash(dead)
    own_valkey.start()
    heir = recorder_of(own_valkey, tmp_path)
    beat(heir)
    assert set(OpenRecords(redis).all()) == {unanswered.event_id}
    assert not list((tmp_path / "spool").glob("*.jsonl"))
    redis.flushall()
    beat(heir)
    assert set(OpenRecords(redis).all()) == {unanswered.event_id}
    assert numbers(events(redis)) == [1]
    heir.close()


def test_events_that_somebody_has_removed_are_found_missing_and_sent_again(
    books: Recorder, redis: "Redis", engine: Engine
) -> None:
    beat(books)
    meters = [request(books) for _ in range(4)]
    for meter in meters:
        answer(meter)
    redis.xtrim(EVENTS, 1, approximate=False)
    check, stream, now_ms = MissingCheck(redis, engine), EventStream(redis), meters[0].started_at_ms
    consume(stream, Ledger(engine), consumer="w")
    (gap,) = check.find(now_ms).missing
    assert (gap.process, gap.first, gap.last) == (books.owner, 1, 3)
    beat(books)
    assert set(numbers(events(redis))) >= {1, 2, 3}
    consume(stream, Ledger(engine), consumer="w")
    assert check.find(now_ms).missing == ()
    beat(books)
    assert redis.xlen(EVENTS) == 0


def test_what_a_restored_ledger_lacks_is_sent_again_as_far_as_it_is_still_on_the_disk(
    books: Recorder, redis: "Redis", engine: Engine
) -> None:
    meters = [request(books) for _ in range(3)]
    for meter in meters:
        answer(meter)
    check, stream, now_ms = MissingCheck(redis, engine), EventStream(redis), meters[0].started_at_ms
    consume(stream, Ledger(engine), consumer="w")
    check.find(now_ms)
    beat(books)
    with engine.execution_options(writes=True).begin() as connection:
        for table in (processes, entries):
            connection.execute(table.delete())
    assert [(it.first, it.last) for it in check.find(now_ms).missing] == [(1, 3)]
    beat(books)
    consume(stream, Ledger(engine), consumer="w")
    assert check.find(now_ms).missing == ()


def test_a_journal_is_emptied_as_the_ledger_gets_its_events(
    books: Recorder, redis: "Redis", engine: Engine
) -> None:
    meter = request(books)
    answer(meter)
    copy = books._second_copy
    assert copy is not None
    assert len(list(copy.journal.unposted())) == 1
    consume(EventStream(redis), Ledger(engine), consumer="w")
    MissingCheck(redis, engine).find(meter.started_at_ms)
    beat(books)
    assert list(copy.journal.unposted()) == []


def test_an_adopted_journal_is_sent_although_redis_fails_in_between(
    own_valkey: Valkey, redis: "Redis", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = recorder_of(own_valkey, tmp_path)
    answer(request(dead))
    crash(dead)
    redis.flushall()
    heir = recorder_of(own_valkey, tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(Processes, "raise_given", fail)
        assert heir.owner
        still(heir)  # it tries once
        assert not heir._outage.is_up
        redis.delete(EVENTS)
    wait_until(heir._heartbeat_and_replay)
    wait_until(lambda: redis.xlen(EVENTS) == 1)
    heir.close()


def fail(*_: object) -> None:
    raise StreamUnavailable("for a moment")


def test_a_dead_process_own_event_replaces_an_estimate_of_it(
    own_valkey: Valkey, redis: "Redis", engine: Engine, tmp_path: Path
) -> None:
    """Redis lost its last second, and the reaper was faster than the one who adopts the journal."""
    dead = recorder_of(own_valkey, tmp_path)
    meter = request(dead)
    opened = redis.hget(OPEN, meter.event_id) or b""
    answer(meter)
    crash(dead)
    redis.flushall()
    redis.hset(OPEN, meter.event_id, opened)
    assert reap(OpenRecords(redis), now_ms=meter.started_at_ms + 60_000) == 1
    stream, ledger = EventStream(redis), Ledger(engine)
    consume(stream, ledger, consumer="w")
    MissingCheck(redis, engine).find(meter.started_at_ms)
    heir = recorder_of(own_valkey, tmp_path)
    assert heir.owner
    heir._heartbeat_and_replay()
    consume(stream, ledger, consumer="w")
    with engine.connect() as connection:
        assert connection.scalars(select(entries.c.status)).all() == ["completed"]
    heir.close()


def test_without_a_journal_nothing_is_written_to_the_disk(
    spooling: Recorder, tmp_path: Path
) -> None:
    answer(request(spooling))
    assert not (tmp_path / "spool").exists()
    assert spooling.journal_fault is None
