"""The consumer: posts usage events from the stream to the ledger, batch by batch.

Does not depend on Celery, and does not know how often it is called.
"""

import logging
import time
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass

from app.ledger.posting import Ledger
from app.ledger.rejections import REJECTIONS
from app.usage.messages.event import UsageEvent
from app.usage.messages.message import UndecodableMessage
from app.usage.redis.stream import EventStream, StreamEntry
from workers.event_fields import event_fields

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Batch:
    """Claimed entries: those with an event, and the others with the reason."""

    decoded: list[tuple[StreamEntry, UsageEvent]]
    undecodable: list[tuple[StreamEntry, str]]

    def __len__(self) -> int:
        """Count the entries."""
        return len(self.decoded) + len(self.undecodable)


@dataclass(frozen=True, slots=True)
class PostReport:
    """How many events were posted, were in the ledger already, and became dead letters."""

    posted: int = 0
    repeated: int = 0
    dead_lettered: int = 0

    def __add__(self, other: "PostReport") -> "PostReport":
        """Sum two reports, count by count."""
        return PostReport(
            self.posted + other.posted,
            self.repeated + other.repeated,
            self.dead_lettered + other.dead_lettered,
        )


def consume(
    stream: EventStream,
    ledger: Ledger,
    *,
    consumer: str,
    limit: int = 5000,
    time_budget_s: float = 10.0,
) -> PostReport:
    """Post batches of up to `limit` events until one is not full or the time is over.

    Commit, then ack. Each batch takes these steps. A crash after a step costs:
    1. claim: nothing; the entries stay pending, and another consumer claims them.
    2. post the decodable events in one transaction: a repeated post, a no-op by event id.
    3. ack them: nothing; the rest is claimed again.
    4. dead-letter the rest, last, because a full Redis has room only now: nothing remains to do.

    Once the ledger has accepted a batch, the next batch is claimed while the ledger posts the
    present one.
    `consumer` is a name that no other process uses at the same time.
    Raises: StreamUnavailable, LedgerUnavailable; events that are not posted stay in the stream.
    """
    deadline_s = time.monotonic() + time_budget_s
    report = PostReport()
    with closing(_batches(stream, consumer, limit, deadline_s)) as batches:
        for batch in batches:
            report += _post(stream, ledger, batch.decoded)
            report += _dead_letter(stream, batch.undecodable)
    if report != PostReport():
        logger.info("posted usage events: %s", report)
    return report


def _batches(stream: EventStream, consumer: str, limit: int, deadline_s: float) -> Generator[Batch]:
    """Yield batches until the time is over, or one is not full; all that is claimed is yielded.

    Events that arrive while the last batch is posted wait for the next run, to keep batches large.
    Entries of dead consumers are claimed first, while this consumer has none pending that could be
    taken for theirs.
    """
    while entries := stream.claim_left_over(consumer, limit):
        yield _decode_all(entries)
        if time.monotonic() >= deadline_s:
            return
    is_posted = False
    batch = _claim(stream, consumer, limit)
    with ThreadPoolExecutor(1, "claim") as pool:
        while batch:
            is_last = len(batch) < limit or time.monotonic() >= deadline_s
            reads_ahead = is_posted and not is_last
            ahead = pool.submit(_claim, stream, consumer, limit) if reads_ahead else None
            yield batch
            is_posted = True
            if is_last:
                return
            batch = ahead.result() if ahead else _claim(stream, consumer, limit)


def _claim(stream: EventStream, consumer: str, limit: int) -> Batch:
    return _decode_all(stream.claim_new(consumer, limit))


def _decode_all(entries: Sequence[StreamEntry]) -> Batch:
    batch = Batch([], [])
    for entry in entries:
        try:
            batch.decoded.append((entry, _decode(entry)))
        except UndecodableMessage as exc:
            batch.undecodable.append((entry, str(exc)))
    return batch


def _decode(entry: StreamEntry) -> UsageEvent:
    if entry.raw is None:
        raise UndecodableMessage("no event: deleted while pending, or written by another program")
    return UsageEvent.decode(entry.raw)


def _post(
    stream: EventStream, ledger: Ledger, batch: Sequence[tuple[StreamEntry, UsageEvent]]
) -> PostReport:
    """Post and acknowledge a batch; halve a rejected one until the bad event stands alone."""
    if not batch:
        return PostReport()
    try:
        posted = ledger.post([event for _, event in batch], _charged(batch))
    except REJECTIONS as exc:
        if len(batch) == 1:
            entry, event = batch[0]
            reason = f"the ledger rejects it: {type(exc).__name__}"
            return _dead_letter(stream, [(entry, reason)], event)
        middle = len(batch) // 2
        return _post(stream, ledger, batch[:middle]) + _post(stream, ledger, batch[middle:])
    stream.ack([entry.entry_id for entry, _ in batch], [event.event_id for _, event in batch])
    return PostReport(posted=posted, repeated=len(batch) - posted)


def _charged(batch: Sequence[tuple[StreamEntry, UsageEvent]]) -> dict[str, int]:
    return {event.event_id: entry.charged for entry, event in batch if entry.charged is not None}


def _dead_letter(
    stream: EventStream,
    rejected: Sequence[tuple[StreamEntry, str]],
    event: UsageEvent | None = None,
) -> PostReport:
    """Move entries to the dead-letter stream; `event` is what the only one of them contains."""
    if not rejected:
        return PostReport()
    stream.dead_letter(rejected)
    for entry, reason in rejected:
        logger.error(
            "usage event %s went to the dead-letter stream: %s",
            entry.entry_id,
            reason,
            extra=event_fields(event),
        )
    return PostReport(dead_lettered=len(rejected))
