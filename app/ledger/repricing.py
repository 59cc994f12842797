"""Re-prices entries whose price was wrong or unknown, and records each re-pricing.

Entries and rollups change together in small transactions, while workers continue to post events.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import orjson
from sqlalchemy import BigInteger, Connection, Engine, RowMapping, bindparam, func, select, update

from app.ledger.corrections import correct
from app.ledger.posting import Entry, changes_of, store_prices, summed
from app.ledger.repricing_plan import EVERYTHING, Part, RepricingBatch, Scope, plan_of
from app.ledger.rollup_sums import add_to_rollups
from app.pricing.price_book import PriceBook
from app.storage.sql.audit import UNKNOWN_ACTOR, Actor, Change
from app.storage.sql.audit import record as record_change
from app.storage.sql.postgresql import without_time_limit
from app.storage.sql.tables import entries, repricings
from app.storage.sql.transactions import reading, write
from app.usage.messages.event_id import new_event_id

#: Entries per transaction.
BATCH_SIZE = 2_000


@dataclass(frozen=True, slots=True)
class Repricing:
    """The record of one re-pricing: its start, its range of entries (Unix ms), and its result."""

    repricing_id: str
    started_at_ms: int
    start_ms: int
    end_ms: int
    changed_entries: int
    added_nanousd: int
    scope: Scope = EVERYTHING


def count_entries(engine: Engine, start_ms: int, end_ms: int, scope: Scope = EVERYTHING) -> int:
    """Return the number of entries whose requests started in a range; `end_ms` is exclusive.

    Raises: LedgerUnavailable.
    """
    within = (entries.c.started_at_ms >= start_ms, entries.c.started_at_ms < end_ms)
    with reading(engine) as connection:
        without_time_limit(connection)
        counted = select(func.count()).where(*within, *scope.conditions())
        return connection.scalar(counted.select_from(entries)) or 0


def reprice(
    engine: Engine,
    prices: PriceBook,
    start_ms: int,
    end_ms: int,
    batch_size: int = BATCH_SIZE,
    *,
    scope: Scope = EVERYTHING,
    actor: Actor = UNKNOWN_ACTOR,
) -> Iterator[RepricingBatch]:
    """Re-price the entries of a range in batches, each by the price effective when it started.

    Entries whose price is unknown to `prices` keep their cost. Each change is recorded as a
    correction for budgets, and the re-pricing as the actor's in the audit trail. If the re-pricing
    is interrupted, the batches so far stay committed and recorded.
    Repeats: re-pricing a range again changes nothing that is up to date.
    Raises: LedgerUnavailable.
    """
    now_ms = time.time_ns() // 1_000_000
    record = Repricing(new_event_id(), now_ms, start_ms, end_ms, 0, 0, scope)
    write(engine, lambda connection: _open(connection, record, actor))
    part = Part((start_ms, ""), end_ms, batch_size, scope)
    while batch := write(engine, partial(_reprice_part, part, prices, record)):
        yield batch
        part = part.after(batch.last)


def preview(
    engine: Engine,
    prices: PriceBook,
    start_ms: int,
    end_ms: int,
    batch_size: int = BATCH_SIZE,
    *,
    scope: Scope = EVERYTHING,
) -> Iterator[RepricingBatch]:
    """Yield what `reprice` would yield, and change nothing.

    Raises: LedgerUnavailable.
    """
    part = Part((start_ms, ""), end_ms, batch_size, scope)
    while True:
        with reading(engine) as connection:
            without_time_limit(connection)
            plan = plan_of(connection, part.select(), prices)
        if not plan.examined:
            return
        report = plan.report()
        yield report
        part = part.after(report.last)


def past_repricings(engine: Engine) -> list[Repricing]:
    """Return the records of all re-pricings, newest first.

    Raises: LedgerUnavailable.
    """
    latest = select(repricings).order_by(repricings.c.started_at_ms.desc())
    with reading(engine) as connection:
        return [_record_of(row) for row in connection.execute(latest).mappings()]


def _record_of(row: RowMapping) -> Repricing:
    values = dict(row)
    scope = Scope(*(_decoded(values.pop(name)) for name in ("account_ids", "models")))
    return Repricing(**values, scope=scope)


def _decoded(text: str | None) -> frozenset[str] | None:
    return None if text is None else frozenset(orjson.loads(text))


def _encoded(names: frozenset[str] | None) -> str | None:
    return None if names is None else orjson.dumps(sorted(names)).decode()


def _open(connection: Connection, record: Repricing, actor: Actor) -> None:
    values = {name: getattr(record, name) for name in record.__slots__ if name != "scope"}
    values["account_ids"] = _encoded(record.scope.account_ids)
    values["models"] = _encoded(record.scope.models)
    connection.execute(repricings.insert().values(values))
    detail = {name: values[name] for name in ("repricing_id", "start_ms", "end_ms")}
    detail |= {name: values[name] for name in ("account_ids", "models") if values[name]}
    record_change(connection, record.started_at_ms, actor, Change("prices.update", detail=detail))


def _reprice_part(
    part: Part, prices: PriceBook, record: Repricing, connection: Connection
) -> RepricingBatch | None:
    without_time_limit(connection)  # of a rare model, it may read all that is in between
    plan = plan_of(connection, part.select().with_for_update(), prices)
    if not plan.examined:
        return None
    store_prices(connection, plan.used)
    report = plan.report()
    if plan.changed:
        _write(connection, plan.changed)
        _update_record(connection, record, report.changed, report.added_nanousd)
    return report


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
