"""Posts counts of refused requests to the ledger, each batch once, and prunes them.

Does not know where they are counted.
"""

from collections.abc import Mapping

from sqlalchemy import Connection, Engine, delete

from app.ledger.slots import DAY_S, floor_to
from app.storage.sql.tables import refusal_batches, refusals
from app.storage.sql.transactions import insert, write
from app.usage.refusal import Refusal

#: How long the ledger remembers a batch, in ms. A worker repeats it while Redis is unavailable.
REMEMBERED_MS = 7 * DAY_S * 1000

_KEY = [it.name for it in refusals.primary_key]


def post_refusals(
    engine: Engine, batch_id: str, counts: Mapping[Refusal, int], now_ms: int
) -> bool:
    """Add a batch of refused requests in one transaction; return False if it is posted already.

    Raises: LedgerUnavailable; it is safe to post the batch again.
    """
    return write(engine, lambda connection: _post(connection, batch_id, counts, now_ms))


def _post(
    connection: Connection, batch_id: str, counts: Mapping[Refusal, int], now_ms: int
) -> bool:
    batch = insert(connection, refusal_batches).values(batch_id=batch_id, posted_at_ms=now_ms)
    new_id = batch.on_conflict_do_nothing().returning(refusal_batches.c.batch_id)
    if connection.scalar(new_id) is None:
        return False
    old = refusal_batches.c.posted_at_ms < now_ms - REMEMBERED_MS
    connection.execute(delete(refusal_batches).where(old))
    new = insert(connection, refusals)
    added = refusals.c.requests + new.excluded.requests
    rows = [{**it._asdict(), "requests": counts[it]} for it in sorted(counts)]
    if rows:
        connection.execute(
            new.on_conflict_do_update(index_elements=_KEY, set_={"requests": added}), rows
        )
    return True


def prune_refusals(engine: Engine, before_s: int) -> int:
    """Remove the counts of the days that ended by `before_s` (UTC); return how many rows.

    Raises: LedgerUnavailable.
    """
    old = delete(refusals).where(refusals.c.hour_s < floor_to(before_s, DAY_S))
    return write(engine, lambda connection: connection.execute(old).rowcount)
