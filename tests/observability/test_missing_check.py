"""What is missing: found exactly, whoever lost it, and not what is still on its way."""

import time
from collections.abc import Iterator

import pytest
from redis import Redis
from sqlalchemy import Engine

from app.admission.numbering import Numbering
from app.ledger.posting import Ledger
from app.ledger.process_numbers import KEPT_MS, read_processes, write_off
from app.observability import missing_check
from app.observability.missing_check import SETTLED_MS, MissingCheck, cell_of, settled
from app.storage.redis.connection import connect
from app.storage.redis.keys import GIVEN, MISSING, NUMBERS_POSTED, OPEN
from app.usage.messages.event import UsageEvent
from app.usage.messages.numbered import Numbered
from app.usage.redis.dead_letters import DeadLetterStream
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.processes import Processes
from app.usage.redis.stream import EventStream
from tests.support.events import open_record, opening, usage_event
from workers.consumer import consume

START_MS = time.time_ns() // 1_000_000 - 7_200_000
NOW_MS = START_MS + 3_600_000


@pytest.fixture
def redis(redis_url: str) -> Iterator["Redis"]:
    with connect(redis_url, 5.0) as redis:
        yield redis


@pytest.fixture
def check(redis: "Redis", engine: Engine) -> MissingCheck:
    return MissingCheck(redis, engine)


def event(number: int, process: str = "web-1") -> UsageEvent:
    """Return the event of a request that started `number` minutes after START_MS."""
    started_at_ms = START_MS + number * 60_000
    return usage_event(process=process, number=number, started_at_ms=started_at_ms)


def given(redis: "Redis", last: int, process: str = "web-1") -> None:
    """Have a process be live, and have given numbers up to `last`."""
    numbering = Numbering(process)
    numbering.given(last)
    Processes(redis).heartbeat(numbering)


def gaps(check: MissingCheck, now_ms: int = NOW_MS) -> list[tuple[str, int, int]]:
    return [(it.process, it.first, it.last) for it in check.find(now_ms).missing]


def test_where_nothing_is_missing_nothing_is_found(
    check: MissingCheck, redis: "Redis", engine: Engine
) -> None:
    assert gaps(check) == []
    given(redis, 3)
    Ledger(engine).post([event(3), event(1), event(2), event(2), usage_event()])
    assert gaps(check) == []


def test_what_is_open_waits_or_is_dead_is_not_missing(
    check: MissingCheck, redis: "Redis", engine: Engine
) -> None:
    stream = EventStream(redis)
    OpenRecords(redis).open(opening("e1", b'{"event_id":"e1","owner":"web-1"}'))
    stream.publish(event(2))
    stream.publish(event(3))
    (entry,) = stream.claim_new("w", 1)
    stream.dead_letter([(entry, "because")])
    Ledger(engine).post([event(4)])
    given(redis, 5)
    assert gaps(check) == [("web-1", 5, 5)]
    DeadLetterStream(redis).drop([item.entry_id for item in DeadLetterStream(redis).entries()])
    redis.delete(OPEN)
    assert gaps(check) == [("web-1", 1, 2), ("web-1", 5, 5)]


def test_a_gap_is_told_with_the_minute_of_its_neighbours(
    check: MissingCheck, redis: "Redis", engine: Engine
) -> None:
    Ledger(engine).post([event(1), event(4)])
    given(redis, 4)
    (gap,) = check.find(NOW_MS).missing
    assert (gap.first, gap.last, gap.size) == (2, 3, 2)
    assert (gap.from_ms, gap.to_ms) == (START_MS + 60_000, START_MS + 4 * 60_000)


def test_an_older_ledger_lacks_exactly_what_came_after_its_backup(
    check: MissingCheck, redis: "Redis", engine: Engine
) -> None:
    given(redis, 7)
    given(redis, 5, "web-2")
    Ledger(engine).post([event(number) for number in range(1, 5)])  # the backup, of two processes
    assert gaps(check) == [("web-1", 5, 7), ("web-2", 1, 5)]


def test_an_older_ledger_learns_what_ended_processes_gave(
    check: MissingCheck, redis: "Redis", engine: Engine
) -> None:
    """Else Redis alone would know, and nothing of them could be written off."""
    redis.hset(GIVEN, "ended", 3)
    assert gaps(check) == [("ended", 1, 3)]
    redis.flushall()
    assert gaps(check) == [("ended", 1, 3)]
    assert write_off(engine, check.find(NOW_MS).missing) == 3
    assert gaps(check) == []


@pytest.mark.parametrize("lose", ["FLUSHALL", "an older Redis"])
def test_what_ended_processes_gave_is_known_although_redis_has_lost_it(
    check: MissingCheck, redis: "Redis", engine: Engine, lose: str
) -> None:
    given(redis, 9)
    Ledger(engine).post([event(1), event(2)])
    check.find(NOW_MS)
    if lose == "FLUSHALL":
        redis.flushall()
    else:
        redis.hset(GIVEN, "web-1", 2)
    assert gaps(check) == [("web-1", 3, 9)]


def test_what_a_process_has_in_its_spool_is_not_missing(
    check: MissingCheck, redis: "Redis"
) -> None:
    numbering = Numbering("web-1")
    numbering.given(4)
    Processes(redis).heartbeat(numbering, spools=True)
    assert gaps(check) == []
    Processes(redis).heartbeat(numbering)
    assert gaps(check) == [("web-1", 1, 4)]


def test_a_gap_is_settled_a_minute_after_it_was_first_found(
    check: MissingCheck, redis: "Redis", engine: Engine
) -> None:
    given(redis, 4)
    assert settled(check.find(NOW_MS), NOW_MS) == ()
    Ledger(engine).post([event(2)])  # the gap becomes two, and they are as old
    later_ms = NOW_MS + SETTLED_MS
    found = check.find(later_ms)
    assert [(it.first, it.last) for it in settled(found, later_ms)] == [(1, 1), (3, 4)]


def test_a_long_backlog_is_not_searched_and_what_was_missing_stays(
    check: MissingCheck, redis: "Redis", monkeypatch: pytest.MonkeyPatch
) -> None:
    given(redis, 4)
    before = check.find(NOW_MS)
    monkeypatch.setattr(missing_check, "BACKLOG_LIMIT", 1)
    for number in (1, 2):
        EventStream(redis).publish(event(number))
    assert check.find(NOW_MS + 1) == before


def test_what_is_written_off_is_missing_no_more_and_may_still_come(
    check: MissingCheck, redis: "Redis", engine: Engine
) -> None:
    given(redis, 4)
    assert write_off(engine, check.find(NOW_MS).missing) == 4
    assert gaps(check) == []
    (row,) = read_processes(engine)
    assert (row.written_off, row.is_complete) == (4, True)
    assert Ledger(engine).post([event(2)]) == 1
    assert gaps(check) == []


def test_processes_know_what_is_posted_and_missing(
    check: MissingCheck, redis: "Redis", engine: Engine
) -> None:
    Ledger(engine).post([event(1), event(2), event(4)])
    given(redis, 4)
    found = check.find(NOW_MS)
    told = Processes(redis).heartbeat(Numbering("web-2"), about=["web-1", "unknown"])
    assert told.missing == found.missing
    assert [(it.first, it.last) for it in told.posted["web-1"]] == [(1, 2), (4, 4)]
    assert told.posted["unknown"] == ()


def test_ended_processes_are_forgotten_after_35_days_unless_something_is_missing(
    check: MissingCheck, redis: "Redis", engine: Engine
) -> None:
    for process in ("whole", "gap", "alive"):
        given(redis, 2, process)
        check.find(NOW_MS)
        Ledger(engine).post([event(1, process)])
    Ledger(engine).post([event(2, "whole"), event(2, "alive")])
    for process in ("whole", "gap"):
        redis.delete(f"usage:owner:{process}")
    late_ms = NOW_MS + KEPT_MS
    check.find(late_ms - 1)
    assert {it.process for it in read_processes(engine)} == {"whole", "gap", "alive"}
    check.find(late_ms + 1)
    assert {it.process for it in read_processes(engine)} == {"gap", "alive"}
    assert set(Processes(redis).given()) == {"gap", "alive"}


def test_each_cell_checks_its_own_processes(redis: "Redis", engine: Engine) -> None:
    given(redis, 1, "eu:web-1")
    Ledger(engine).post([event(2, "us:web-1"), event(2, "web-1")])
    assert gaps(MissingCheck(redis, engine, "eu")) == [("eu:web-1", 1, 1)]
    assert cell_of("eu:web-1") == "eu"
    assert cell_of("web-1") == "main"


def test_an_event_that_is_posted_during_the_check_is_not_missing(
    check: MissingCheck, redis: "Redis", engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = EventStream(redis)
    stream.publish(event(1))
    given(redis, 1)
    waiting = EventStream.numbered

    def posted_first(self: EventStream) -> list[Numbered]:
        consume(stream, Ledger(engine), consumer="w")
        return waiting(self)

    monkeypatch.setattr(EventStream, "numbered", posted_first)
    assert gaps(check) == []


def test_the_ledger_is_complete_up_to_the_oldest_that_is_open_or_waits(
    check: MissingCheck, redis: "Redis"
) -> None:
    stream, records = EventStream(redis), OpenRecords(redis)
    assert check.find(NOW_MS).until_ms == NOW_MS - 6_000  # a record may take that long
    stream.publish(event(5))
    assert check.find(NOW_MS).until_ms == event(5).started_at_ms
    young = open_record(event_id="young", started_at_ms=event(9).started_at_ms)
    old = open_record(event_id="old", started_at_ms=event(2).started_at_ms)
    for record in (young, old):
        records.reopen(record.event_id, record.encode(), "", 0)
    assert check.find(NOW_MS).until_ms == event(2).started_at_ms
    records.close("old")
    (entry,) = stream.claim_new("w", 1)
    stream.dead_letter([(entry, "because")])
    assert check.find(NOW_MS).until_ms == event(9).started_at_ms


def test_a_cell_that_gets_a_name_still_knows_its_processes(redis: "Redis", engine: Engine) -> None:
    given(redis, 2)
    Ledger(engine).post([event(1), event(2)])
    assert gaps(MissingCheck(redis, engine, "eu")) == []


def test_an_event_of_a_forgotten_process_tells_nothing_of_the_others(
    check: MissingCheck, engine: Engine
) -> None:
    """Such as one from an old log, or an old disk."""
    started_at_ms = time.time_ns() // 1_000_000 - KEPT_MS - 1
    old = usage_event(process="old", number=9_000, started_at_ms=started_at_ms)
    assert Ledger(engine).post([old]) == 1
    assert gaps(check) == []


def test_the_ledger_is_not_complete_beyond_what_another_process_has_spooled(
    check: MissingCheck, redis: "Redis", engine: Engine
) -> None:
    numbering = Numbering("web-1")
    numbering.given(4)
    Ledger(engine).post([event(1), event(2)])
    Processes(redis).heartbeat(numbering, spools=True)
    assert check.find(NOW_MS).until_ms == event(2).started_at_ms


@pytest.mark.parametrize("odd", [b"{}", b"nonsense", b'[5,[["web-1",1]]]'])
def test_what_another_version_has_stored_is_replaced(
    check: MissingCheck, redis: "Redis", odd: bytes
) -> None:
    redis.set(MISSING, odd)
    redis.hset(NUMBERS_POSTED, "web-1", odd)
    told = Processes(redis).heartbeat(Numbering("web-1"), about=["web-1"])
    assert (told.missing, told.posted) == ((), {"web-1": ()})
    assert check.find(NOW_MS) == Processes(redis).search()
    redis.delete(MISSING, NUMBERS_POSTED)
    redis.lpush(MISSING, "x")
    redis.lpush(NUMBERS_POSTED, "x")
    told = Processes(redis).heartbeat(Numbering("web-1"), about=["web-1"])
    assert (told.missing, told.posted) == ((), {"web-1": ()})
