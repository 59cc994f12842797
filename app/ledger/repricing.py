"""Re-prices entries whose price was wrong or unknown, and records each re-pricing.

Entries and rollups change together in small transactions, while workers continue to post events.
"""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial

from sqlalchemy import BigInteger, Connection, Engine, bindparam, func, select, tuple_, update

from app.ledger.corrections import correct
from app.ledger.posting import Entry, add_to_rollups, changes_of, entry_of, store_prices, summed
from app.pricing.price_book import PriceBook
from app.storage.sql.audit import UNKNOWN_ACTOR, Actor, Change
from app.storage.sql.audit import record as record_change
from app.storage.sql.tables import entries, repricings
from app.storage.sql.transactions import reading, write
from app.usage.cost import Cost, cost_of
from app.usage.messages.event_id import new_event_id

#: Entries per transaction.
BATCH_SIZE = 2_000

#: (started_at_ms, event_id): the order in which entries are re-priced.
EntryKey = tuple[int, str]


@dataclass(frozen=True, slots=True)
class RepricingBatch:
    """The result of one transaction.

    `examined` and `changed` count entries, `added_nanousd` is the change of their total cost, and
    `last` is the last examined entry. `price_ids` counts changed entries by their new price; None
    stands for entries without usage, which have no price.
    """

    examined: int
    changed: int
    added_nanousd: int
    last: EntryKey
    price_ids: Counter[str | None]


@dataclass(frozen=True, slots=True)
class Repricing:
    """The record of one re-pricing: its start, its range of entries (Unix ms), and its result."""

    repricing_id: str
    started_at_ms: int
    start_ms: int
    end_ms: int
    changed_entries: int
    added_nanousd: int


def count_entries(engine: Engine, start_ms: int, end_ms: int) -> int:
    """Return the number of entries whose requests started in a range; `end_ms` is exclusive.

    Raises: LedgerUnavailable.
    """
    within = (entries.c.started_at_ms >= start_ms, entries.c.started_at_ms < end_ms)
    with reading(engine) as connection:
        return connection.scalar(select(func.count()).where(*within)) or 0


def reprice(
    engine: Engine,
    prices: PriceBook,
    start_ms: int,
    end_ms: int,
    batch_size: int = BATCH_SIZE,
    *,
    actor: Actor = UNKNOWN_ACTOR,
) -> Iterator[RepricingBatch]:
    """Re-price the entries of a range in batches, each by the price effective when it started.

    Entries whose price is unknown to `prices` keep their cost. Each change is recorded as a
    correction for budgets, and the re-pricing as the actor's in the audit trail. If the re-pricing
    is interrupted, the batches so far stay committed and recorded.
    Repeats: re-pricing a range again changes nothing that is up to date.
    Raises: LedgerUnavailable.
    """
    record = Repricing(new_event_id(), time.time_ns() // 1_000_000, start_ms, end_ms, 0, 0)
    write(engine, lambda connection: _open(connection, record, actor))
    last: EntryKey = (start_ms, "")
    while batch := write(engine, partial(_reprice_after, last, prices, record, batch_size)):
        yield batch
        last = batch.last


def past_repricings(engine: Engine) -> list[Repricing]:
    """Return the records of all re-pricings, newest first.

    Raises: LedgerUnavailable.
    """
    latest = select(repricings).order_by(repricings.c.started_at_ms.desc())
    with reading(engine) as connection:
        return [Repricing(**row) for row in connection.execute(latest).mappings()]


def _open(connection: Connection, record: Repricing, actor: Actor) -> None:
    connection.execute(repricings.insert().values(asdict(record)))
    detail = {name: asdict(record)[name] for name in ("repricing_id", "start_ms", "end_ms")}
    record_change(connection, record.started_at_ms, actor, Change("prices.update", detail=detail))


def _reprice_after(
    last: EntryKey, prices: PriceBook, record: Repricing, batch_size: int, connection: Connection
) -> RepricingBatch | None:
    batch = _entries_after(connection, last, record.end_ms, batch_size)
    if not batch:
        return None
    priced = [(old, cost_of(old.event, prices)) for old in batch]
    pairs = [(old, _priced(old, cost)) for old, cost in priced if _is_known(old, cost)]
    changed = [(old, new) for old, new in pairs if new != old]
    used = {price.price_id: price for _, cost in priced for price in cost.prices}
    store_prices(connection, used)
    added_nanousd = sum((new.cost_nanousd or 0) - (old.cost_nanousd or 0) for old, new in changed)
    if changed:
        _write(connection, changed)
        _update_record(connection, record, len(changed), added_nanousd)
    newest = batch[-1].event
    price_ids = Counter(new.price_id for _, new in changed)
    key = (newest.started_at_ms, newest.event_id)
    return RepricingBatch(len(batch), len(changed), added_nanousd, key, price_ids)


def _entries_after(
    connection: Connection, last: EntryKey, end_ms: int, batch_size: int
) -> list[Entry]:
    key = (entries.c.started_at_ms, entries.c.event_id)
    found = connection.execute(
        select(entries)
        .where(entries.c.started_at_ms >= last[0], entries.c.started_at_ms < end_ms)
        .where(tuple_(*key) > last)
        .order_by(*key)
        .limit(batch_size)
        .with_for_update()
    )
    return [entry_of(row) for row in found.mappings()]


def _is_known(old: Entry, cost: Cost) -> bool:
    return cost.nanousd is not None or old.event.is_empty


def _priced(old: Entry, cost: Cost) -> Entry:
    return Entry(old.event, cost.nanousd, cost.price_id)


def _write(connection: Connection, changed: Sequence[tuple[Entry, Entry]]) -> None:
    statement = (
        update(entries)
        .where(entries.c.event_id == bindparam("id"))
        .values(cost_nanousd=bindparam("cost", type_=BigInteger), price_id=bindparam("price"))
    )
    rows = [
        {"id": new.event.event_id, "cost": new.cost_nanousd, "price": new.price_id}
        for _, new in changed
    ]
    connection.execute(statement, rows)
    add_to_rollups(connection, summed([], changed))
    correct(connection, changes_of(changed))


def _update_record(
    connection: Connection, record: Repricing, changed: int, added_nanousd: int
) -> None:
    connection.execute(
        update(repricings)
        .where(repricings.c.repricing_id == record.repricing_id)
        .values(
            changed_entries=repricings.c.changed_entries + changed,
            added_nanousd=repricings.c.added_nanousd + added_nanousd,
        )
    )
