"""Batches that are claimed while the ledger posts the one before."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pytest
from redis import Redis

from app.ledger.posting import NOT_CHARGED, Ledger
from app.usage.messages.event import UsageEvent
from app.usage.redis.stream import EventStream
from app.vocabulary.errors import LedgerUnavailable
from tests.support.events import usage_event
from tests.support.services.polling import wait_until
from tests.workers.contents import event_ids, rolled_up, waiting
from workers.consumer import PostReport, consume


@dataclass(frozen=True)
class TurnsAway(Ledger):
    """A ledger that posts two batches, and fails once the batch after the third is claimed."""

    stream: EventStream = field(kw_only=True)
    taken: list[int] = field(default_factory=list)

    def post(self, events: Iterable[UsageEvent], charged: Mapping[str, int] = NOT_CHARGED) -> int:
        """Post, or fail."""
        if len(self.taken) == 2:
            wait_until(lambda: self.stream.claimed() == 20)
            raise LedgerUnavailable("away")
        self.taken.append(super().post(events, charged))
        return self.taken[-1]


@pytest.fixture
def published(stream: EventStream) -> list[str]:
    """The ids of 50 events on the stream, in order."""
    events = [usage_event(account_id=f"acct_{number % 7}") for number in range(50)]
    for event in events:
        stream.publish(event)
    return sorted(event.event_id for event in events)


def test_batches_claimed_before_the_ledger_failed_are_posted_by_the_next_run(
    stream: EventStream, ledger: Ledger, redis: "Redis", published: list[str]
) -> None:
    with pytest.raises(LedgerUnavailable):
        consume(stream, TurnsAway(ledger.engine, stream=stream), consumer="a", limit=10)
    assert waiting(redis) == (30, 20)
    assert consume(stream, ledger, consumer="b", limit=10) == PostReport(posted=30)
    assert event_ids(ledger.engine) == published
    assert rolled_up(ledger.engine) == 50
    assert waiting(redis) == (0, 0)


@pytest.mark.parametrize("time_budget_s", [0.001, 0.01, 0.02, 0.05])
def test_a_run_whose_time_is_over_leaves_nothing_claimed(
    stream: EventStream,
    ledger: Ledger,
    redis: "Redis",
    published: list[str],
    time_budget_s: float,
) -> None:
    report = consume(stream, ledger, consumer="a", limit=2, time_budget_s=time_budget_s)
    posted = event_ids(ledger.engine)
    assert len(posted) == report.posted
    assert set(posted) <= set(published)
    assert waiting(redis) == (50 - report.posted, 0)
