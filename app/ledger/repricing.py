"""Pricing entries anew, when a price was wrong or not known: a deliberate act, and a recorded one.

Entries and rollups change together, in small transactions, while events go on being posted.
"""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial

from sqlalchemy import BigInteger, Connection, Engine, bindparam, func, select, tuple_, update

from app.ledger.corrections import correct
from app.ledger.posting import Entry, add_to_rollups, changes_of, entry_of, keep_prices, summed
from app.pricing.price_book import PriceBook
from app.storage.sql.database import reading, write
from app.storage.sql.tables import entries, repricings
from app.usage.cost import Cost, cost_of
from app.usage.event import new_event_id

#: Entries of one transaction.
AT_ONCE = 2_000

#: Where a batch begins: (started_at_ms, event_id) of the last entry before it.
Place = tuple[int, str]


@dataclass(frozen=True, slots=True)
class RepricingBatch:
    """What one transaction did: how many entries it looked at and changed, what that added, and how
    many of the changed ones have which price now; None is none, of what used nothing.
    """

    examined: int
    changed: int
    added_nanousd: int
    last: Place
    price_ids: Counter[str | None]


@dataclass(frozen=True, slots=True)
class Repricing:
    """A record of one that was made: when, of which entries (Unix ms), and what came of it."""

    repricing_id: str
    started_at_ms: int
    start_ms: int
    end_ms: int
    changed_entries: int
    added_nanousd: int


def count_entries(engine: Engine, start_ms: int, end_ms: int) -> int:
    """Count the entries of requests that started in a range.

    Raises: LedgerUnavailable.
    """
    within = (entries.c.started_at_ms >= start_ms, entries.c.started_at_ms < end_ms)
    with reading(engine) as connection:
        return connection.scalar(select(func.count()).where(*within)) or 0


def reprice(
    engine: Engine, prices: PriceBook, start_ms: int, end_ms: int, at_once: int = AT_ONCE
) -> Iterator[RepricingBatch]:
    """Price the entries of a range by the prices of today's book for their time, batch by batch.

    An entry whose price the book does not know keeps the cost that it has. Budgets learn of it:
    what they have counted before is put right. What is interrupted is
    done and recorded as far as it went; to do it again changes nothing that is done.
    Raises: LedgerUnavailable.
    """
    record = Repricing(new_event_id(), time.time_ns() // 1_000_000, start_ms, end_ms, 0, 0)
    write(engine, lambda connection: _open(connection, record))
    place: Place = (start_ms, "")
    while batch := write(engine, partial(_price, prices, record, place, at_once)):
        yield batch
        place = batch.last


def past_repricings(engine: Engine) -> list[Repricing]:
    """Return what was priced anew, the latest first.

    Raises: LedgerUnavailable.
    """
    latest = select(repricings).order_by(repricings.c.started_at_ms.desc())
    with reading(engine) as connection:
        return [Repricing(**row) for row in connection.execute(latest).mappings()]


def _open(connection: Connection, record: Repricing) -> None:
    connection.execute(repricings.insert().values(asdict(record)))


def _price(
    prices: PriceBook, record: Repricing, place: Place, at_once: int, connection: Connection
) -> RepricingBatch | None:
    batch = _after(connection, place, record.end_ms, at_once)
    if not batch:
        return None
    priced = [(old, cost_of(old.event, prices)) for old in batch]
    pairs = [(old, _priced(old, cost)) for old, cost in priced if _is_known(old, cost)]
    changed = [(old, new) for old, new in pairs if new != old]
    used = {price.price_id: price for _, cost in priced for price in cost.prices}
    keep_prices(connection, used)
    added_nanousd = sum((new.cost_nanousd or 0) - (old.cost_nanousd or 0) for old, new in changed)
    if changed:
        _write(connection, changed)
        _note(connection, record, len(changed), added_nanousd)
    last = batch[-1].event
    place = (last.started_at_ms, last.event_id)
    price_ids = Counter(new.price_id for _, new in changed)
    return RepricingBatch(len(batch), len(changed), added_nanousd, place, price_ids)


def _after(connection: Connection, place: Place, end_ms: int, at_once: int) -> list[Entry]:
    key = (entries.c.started_at_ms, entries.c.event_id)
    found = connection.execute(
        select(entries)
        .where(entries.c.started_at_ms >= place[0], entries.c.started_at_ms < end_ms)
        .where(tuple_(*key) > place)
        .order_by(*key)
        .limit(at_once)
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


def _note(connection: Connection, record: Repricing, changed: int, added_nanousd: int) -> None:
    connection.execute(
        update(repricings)
        .where(repricings.c.repricing_id == record.repricing_id)
        .values(
            changed_entries=repricings.c.changed_entries + changed,
            added_nanousd=repricings.c.added_nanousd + added_nanousd,
        )
    )
