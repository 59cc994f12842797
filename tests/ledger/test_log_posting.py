"""Events from a log in a real ledger."""

import time

import sqlalchemy as sa
from sqlalchemy import Engine

from app.ledger.log_posting import LoggedEvent, post_logged
from app.ledger.posting import Ledger
from app.ledger.retention import prune
from app.storage.sql.tables import entries, rollups
from app.usage.messages.event import UsageEvent
from tests.support.events import usage_event

DAY_MS = 86_400_000


def found(*events: UsageEvent) -> list[LoggedEvent]:
    return [LoggedEvent(line, event) for line, event in enumerate(events, 1)]


def requests(engine: Engine) -> tuple[int, int]:
    """The number of entries, and of requests in the rollups."""
    with engine.connect() as connection:
        count = connection.scalar(sa.select(sa.func.count()).select_from(entries))
        return count or 0, connection.scalar(sa.select(sa.func.sum(rollups.c.requests))) or 0


def test_what_the_ledger_lacks_is_posted_once(engine: Engine) -> None:
    ledger, events = Ledger(engine), [usage_event() for _ in range(3)]
    ledger.post(events[:1])
    report = post_logged(ledger, found(*events, events[1]))
    assert (report.posted, report.known, report.refused) == (2, 2, [])
    again = post_logged(ledger, found(*events))
    assert (again.posted, again.known, again.refused) == (0, 3, [])
    assert requests(engine) == (3, 3)


def test_an_estimate_gives_way_to_the_event(engine: Engine) -> None:
    ledger, event = Ledger(engine), usage_event(total_tokens=77)
    ledger.post([usage_event(event_id=event.event_id, status="abandoned", source="estimated")])
    report = post_logged(ledger, found(event))
    assert (report.posted, report.known) == (0, 1)
    with engine.connect() as connection:
        row = connection.execute(sa.select(entries)).mappings().one()
    assert (row["status"], row["total_tokens"]) == (event.status, 77)


def test_an_event_that_may_have_been_pruned_is_refused(engine: Engine) -> None:
    """Its entry is gone, and its sums are not: it would count twice."""
    now_ms = time.time_ns() // 1_000_000
    ledger, old = Ledger(engine), usage_event(started_at_ms=now_ms - 9 * DAY_MS)
    new = usage_event(started_at_ms=now_ms)
    ledger.post([old])
    list(prune(engine, (now_ms - 5 * DAY_MS) // 1000))
    report = post_logged(ledger, found(old, new))
    assert (report.posted, report.known) == (1, 0)
    assert report.refused == [(1, "older than what was pruned, so it may be counted already")]
    assert requests(engine) == (1, 2)


def test_an_event_that_the_ledger_rejects_keeps_no_other_one_back(engine: Engine) -> None:
    """The rest of its batch is posted."""
    good = [usage_event() for _ in range(4)]
    bad = usage_event(account_id="nul\0")  # as only a version with a fault would write it
    report = post_logged(Ledger(engine), found(*good[:2], bad, *good[2:]))
    if report.refused:  # SQLite stores what PostgreSQL does not
        assert (report.posted, [line for line, _ in report.refused]) == (4, [3])
        assert report.refused[0][1].startswith("the ledger rejects it (")
    assert requests(engine)[0] == 5 - len(report.refused)
