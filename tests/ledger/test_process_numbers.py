"""Which requests of each process the ledger has."""

import time
from concurrent.futures import ThreadPoolExecutor

from sqlalchemy import Engine

from app.ledger.posting import Ledger
from app.ledger.process_numbers import (
    ProcessNumbers,
    forget_processes,
    note_given,
    read_processes,
    write_off,
)
from app.usage.messages.event import UsageEvent
from app.usage.missing import Missing
from app.usage.numbers import NumberRange, count
from tests.support.events import usage_event

#: An hour ago, in Unix ms.
START_MS = time.time_ns() // 1_000_000 - 3_600_000


def event(number: int, process: str = "web-1", **changes: object) -> UsageEvent:
    """Return the event of a request that started `number` ms after START_MS."""
    started_at_ms = START_MS + number
    return usage_event(process=process, number=number, started_at_ms=started_at_ms, **changes)


def only(engine: Engine) -> ProcessNumbers:
    (row,) = read_processes(engine)
    return row


def test_posted_numbers_are_noted_with_their_times(engine: Engine) -> None:
    Ledger(engine).post([event(3), event(1), event(2), event(7)])
    first = NumberRange(1, 3, START_MS + 1, START_MS + 3)
    second = NumberRange(7, 7, START_MS + 7, START_MS + 7)
    assert only(engine) == ProcessNumbers(
        "web-1", 7, (first, second), 0, START_MS + 1, START_MS + 7
    )
    assert not only(engine).is_complete
    Ledger(engine).post([event(number) for number in (4, 5, 6)])
    assert only(engine).is_complete


def test_a_repeat_notes_its_number_though_it_posts_nothing(engine: Engine) -> None:
    """A worker of the version before has posted it without its number."""
    Ledger(engine).post([usage_event(event_id="e1")])
    assert read_processes(engine) == []
    repeats = [event(1, event_id="e1"), event(2, event_id="e1")]
    assert Ledger(engine).post(repeats) == 0
    assert count(only(engine).posted) == 2


def test_events_of_many_processes_are_noted_by_many_workers_at_once(engine: Engine) -> None:
    events = [event(number, f"web-{process}") for number in range(1, 41) for process in range(3)]
    batches = [events[at::8] for at in range(8)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(Ledger(engine).post, batches))
    found = read_processes(engine)
    assert [(it.process, count(it.posted)) for it in found] == [(f"web-{n}", 40) for n in range(3)]
    assert all(it.is_complete for it in found)


def test_given_numbers_only_rise(engine: Engine) -> None:
    note_given(engine, {"web-1": 5}, 1_000)
    note_given(engine, {"web-1": 3, "web-2": 0}, 900)
    note_given(engine, {}, 5)
    found = {it.process: (it.given, it.since_ms, it.seen_ms) for it in read_processes(engine)}
    assert found == {"web-1": (5, 1_000, 1_000), "web-2": (0, 900, 900)}


def test_what_is_written_off_counts_as_posted_once(engine: Engine) -> None:
    Ledger(engine).post([event(1), event(5)])
    gap = Missing("web-1", 2, 6, START_MS, START_MS, 0)
    assert write_off(engine, [gap]) == 4
    assert write_off(engine, [gap]) == 0
    assert write_off(engine, []) == 0
    row = only(engine)
    assert (row.given, row.written_off, row.is_complete) == (6, 4, True)


def test_processes_are_forgotten(engine: Engine) -> None:
    note_given(engine, {"web-1": 5, "web-2": 5}, 1_000)
    forget_processes(engine, ["web-1", "unknown"])
    forget_processes(engine, [])
    assert only(engine).process == "web-2"
