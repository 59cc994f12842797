"""The drain: moves usage events from the stream to the ledger, batch by batch.

Does not know Celery, nor who calls it and how often.
"""

import logging
import time
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass

from sqlalchemy.exc import DataError, IntegrityError

from app.ledger.posting import Ledger
from app.usage.event import UndecodableEvent, UsageEvent
from app.usage.redis.stream import EventStream, StreamEntry

#: What a ledger says of an event that it can never hold. Anything else is a fault of ours or of a
#: service: it goes up, and the events stay in the stream until it is mended.
REFUSALS = (DataError, IntegrityError, ValueError, OverflowError)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Batch:
    """Claimed entries: those that hold an event, and those that do not, with the reason."""

    decoded: list[tuple[StreamEntry, UsageEvent]]
    undecodable: list[tuple[StreamEntry, str]]

    def __len__(self) -> int:
        """Count the entries."""
        return len(self.decoded) + len(self.undecodable)


@dataclass(frozen=True, slots=True)
class PostReport:
    """How many events were posted, were there already, and went to the dead stream."""

    posted: int = 0
    repeated: int = 0
    buried: int = 0

    def __add__(self, other: "PostReport") -> "PostReport":
        """Sum two reports, count by count."""
        return PostReport(
            self.posted + other.posted,
            self.repeated + other.repeated,
            self.buried + other.buried,
        )


def drain(
    stream: EventStream,
    ledger: Ledger,
    *,
    consumer: str,
    limit: int = 5000,
    time_budget_s: float = 10.0,
) -> PostReport:
    """Move batches of up to `limit` events until one is not full or the time is over.

    Commit, then ack. Each batch goes through these steps; after each, a crash costs:
    1. claim: nothing; the entries stay pending, and another consumer claims them.
    2. post what can be decoded in one transaction: a repeated post, a no-op by event id.
    3. ack that: nothing; the rest is claimed again.
    4. bury the rest, last, since a full Redis has room for it only now: nothing is left to do.

    Once the ledger has taken a batch, the next one is claimed while it works on the present one.
    `consumer` is a name that no other process uses at the same time.
    Raises: StreamUnavailable, LedgerUnavailable; what is not posted stays in the stream.
    """
    deadline_s = time.monotonic() + time_budget_s
    report = PostReport()
    with closing(_batches(stream, consumer, limit, deadline_s)) as batches:
        for batch in batches:
            report += _post(stream, ledger, batch.decoded) + _bury(stream, batch.undecodable)
    if report != PostReport():
        logger.info("drained: %s", report)
    return report


def _batches(stream: EventStream, consumer: str, limit: int, deadline_s: float) -> Generator[Batch]:
    """Yield batches until the time is over, or one is not full; what is claimed is yielded.

    Events come in all the time: what comes in while the last batch is posted is left for the next
    drain, or it would be posted by the handful. What dead consumers left comes first, while nothing
    of ours is under way: it might be that.
    """
    while entries := stream.claim_left_over(consumer, limit):
        yield _decode_all(entries)
        if time.monotonic() >= deadline_s:
            return
    is_taken = False
    batch = _claim(stream, consumer, limit)
    with ThreadPoolExecutor(1, "claim") as pool:
        while batch:
            goes_on = len(batch) == limit and time.monotonic() < deadline_s
            ahead = pool.submit(_claim, stream, consumer, limit) if goes_on and is_taken else None
            yield batch
            is_taken = True
            if not goes_on:
                return
            batch = ahead.result() if ahead else _claim(stream, consumer, limit)


def _claim(stream: EventStream, consumer: str, limit: int) -> Batch:
    return _decode_all(stream.claim_new(consumer, limit))


def _decode_all(entries: Sequence[StreamEntry]) -> Batch:
    batch = Batch([], [])
    for entry in entries:
        try:
            batch.decoded.append((entry, _decode(entry)))
        except UndecodableEvent as exc:
            batch.undecodable.append((entry, str(exc)))
    return batch


def _decode(entry: StreamEntry) -> UsageEvent:
    if entry.raw is None:
        raise UndecodableEvent("no event: deleted while pending, or written by another program")
    return UsageEvent.decode(entry.raw)


def _post(
    stream: EventStream, ledger: Ledger, batch: Sequence[tuple[StreamEntry, UsageEvent]]
) -> PostReport:
    """Post and acknowledge a batch; halve a refused one until the bad event stands alone."""
    if not batch:
        return PostReport()
    try:
        posted = ledger.post([event for _, event in batch], _charged(batch))
    except REFUSALS as exc:
        if len(batch) == 1:
            return _bury(stream, [(batch[0][0], f"the ledger refuses it: {type(exc).__name__}")])
        middle = len(batch) // 2
        return _post(stream, ledger, batch[:middle]) + _post(stream, ledger, batch[middle:])
    stream.ack([entry.entry_id for entry, _ in batch], [event.event_id for _, event in batch])
    return PostReport(posted=posted, repeated=len(batch) - posted)


def _charged(batch: Sequence[tuple[StreamEntry, UsageEvent]]) -> dict[str, int]:
    return {event.event_id: entry.charged for entry, event in batch if entry.charged is not None}


def _bury(stream: EventStream, rejected: Sequence[tuple[StreamEntry, str]]) -> PostReport:
    if not rejected:
        return PostReport()
    stream.dead_letter(rejected)
    for entry, reason in rejected:
        logger.error("usage event %s went to the dead stream: %s", entry.entry_id, reason)
    return PostReport(buried=len(rejected))
