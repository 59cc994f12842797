"""Moves counts of refused requests from Redis to the ledger. Does not depend on Celery."""

import time
import uuid

from sqlalchemy import Engine

from app.ledger.refusals import post_refusals
from app.usage.redis.refusal_counts import RefusalCounts


def move_refusals(counts: RefusalCounts, engine: Engine) -> int:
    """Post what waits; return how many requests were posted.

    A crash after any step costs nothing: the batch stays in Redis until the ledger has it, and the
    ledger takes it once.
    Raises: StreamUnavailable, LedgerUnavailable.
    """
    batch = counts.take(uuid.uuid4().hex)
    if batch is None:
        return 0
    is_new = post_refusals(engine, batch.batch_id, batch.counts, time.time_ns() // 1_000_000)
    counts.drop(batch.batch_id)
    return sum(batch.counts.values()) if is_new else 0
