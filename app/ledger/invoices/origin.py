"""Where an invoice's numbers come from: the ledger, how complete it is, and what changed in it."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine, Select, func, select

from app.ledger.invoices.month import Month
from app.ledger.repricing import Repricing, past_repricings
from app.ledger.retention import pruned_until_s
from app.ledger.slots import DAY_S, floor_to
from app.storage.sql.tables import corrections, processes
from app.storage.sql.transactions import reading
from app.usage.missing import Search


@dataclass(frozen=True, slots=True, kw_only=True)
class Completeness:
    """How far the usage of all accounts is in the ledger.

    Every request that started before `until_ms` (Unix ms) is counted; None: unknown. `search` is
    what a worker found to be missing; None: unknown.
    """

    until_ms: float | None = None
    search: Search | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where the numbers of one account's month come from.

    `repricings` are those that may have changed its costs, oldest first. `corrected_requests` and
    `corrected_nanousd` are the corrections of budgets on the days (UTC) of the month.
    `missing_requests` are requests of any account that may have started in the month, and whose
    usage is in no place; None: unknown. `written_off` were given up.
    """

    ledger: str
    is_replica: bool
    complete_until_ms: float | None
    pruned_until_s: int | None
    repricings: tuple[Repricing, ...]
    corrected_requests: int
    corrected_nanousd: int
    missing_requests: int | None
    written_off: int


def read_origin(
    engine: Engine,
    account_id: str,
    month: Month,
    completeness: Completeness,
    *,
    is_replica: bool = False,
) -> Origin:
    """Return where the numbers of a month come from.

    Read `completeness` before the month's usage, and call this after it.
    Raises: LedgerUnavailable.
    """
    with reading(engine) as connection:
        requests, nanousd = connection.execute(_corrections(account_id, month)).one()
        written_off = connection.scalar(_written_off(month))
        pruned_s = pruned_until_s(connection)
    return Origin(
        ledger=ledger_name(engine),
        is_replica=is_replica,
        complete_until_ms=completeness.until_ms,
        pruned_until_s=min(pruned_s, month.end_s) if pruned_s > month.start_s else None,
        repricings=_repricings(engine, account_id, month),
        corrected_requests=int(requests),
        corrected_nanousd=int(nanousd),
        missing_requests=_missing(completeness.search, month),
        written_off=int(written_off or 0),
    )


def _corrections(account_id: str, month: Month) -> Select[tuple[Any, Any]]:
    it = corrections.c
    sums = (func.coalesce(func.sum(c), 0) for c in (it.corrected_requests, it.added_nanousd))
    days = (it.day_s >= floor_to(month.start_s, DAY_S), it.day_s < month.end_s)
    return select(*sums).where(it.account_id == account_id, *days)


def _written_off(month: Month) -> Select[tuple[Any]]:
    it = processes.c
    ran = (it.since_ms < month.end_s * 1000, it.seen_ms >= month.start_s * 1000)
    return select(func.sum(it.written_off)).where(*ran)


def ledger_name(engine: Engine) -> str:
    """Return the kind and the name of a database, without its host and its user."""
    name = (engine.url.database or "").rpartition("/")[2]
    kind = {"postgresql": "PostgreSQL", "sqlite": "SQLite"}.get(engine.dialect.name, "SQL")
    return f"{kind} {name}".strip()


def _repricings(engine: Engine, account_id: str, month: Month) -> tuple[Repricing, ...]:
    """Return the re-pricings that may have changed the account's entries, oldest first."""
    start_ms, end_ms = month.start_s * 1000, month.end_s * 1000
    return tuple(
        it
        for it in reversed(past_repricings(engine))
        if it.changed_entries and it.start_ms < end_ms and it.end_ms > start_ms
        if it.scope.account_ids is None or account_id in it.scope.account_ids
    )


def _missing(search: Search | None, month: Month) -> int | None:
    if search is None:
        return None
    start_ms, end_ms = month.start_s * 1000, month.end_s * 1000
    return sum(it.size for it in search.missing if it.from_ms < end_ms and it.to_ms >= start_ms)
