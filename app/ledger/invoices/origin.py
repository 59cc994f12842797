"""Where an invoice's numbers come from: the ledger, how complete it is, and what changed in it."""

from dataclasses import dataclass

from sqlalchemy import Engine, func, select

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
    start_ms, end_ms = month.start_s * 1000, month.end_s * 1000
    day_s = corrections.c.day_s
    corrected = select(
        func.coalesce(func.sum(corrections.c.corrected_requests), 0),
        func.coalesce(func.sum(corrections.c.added_nanousd), 0),
    ).where(
        corrections.c.account_id == account_id,
        day_s >= floor_to(month.start_s, DAY_S),
        day_s < month.end_s,
    )
    given_up = select(func.coalesce(func.sum(processes.c.written_off), 0)).where(
        processes.c.since_ms < end_ms, processes.c.seen_ms >= start_ms
    )
    with reading(engine) as connection:
        requests, nanousd = connection.execute(corrected).one()
        written_off = connection.scalar(given_up)
        pruned_s = pruned_until_s(connection)
    return Origin(
        ledger=ledger_name(engine),
        is_replica=is_replica,
        complete_until_ms=completeness.until_ms,
        pruned_until_s=min(pruned_s, month.end_s) if pruned_s > month.start_s else None,
        repricings=_repricings(engine, account_id, start_ms, end_ms),
        corrected_requests=int(requests),
        corrected_nanousd=int(nanousd),
        missing_requests=_missing(completeness.search, start_ms, end_ms),
        written_off=int(written_off or 0),
    )


def ledger_name(engine: Engine) -> str:
    """Return the kind and the name of a database, without its host and its user."""
    name = (engine.url.database or "").rpartition("/")[2]
    kind = {"postgresql": "PostgreSQL", "sqlite": "SQLite"}.get(engine.dialect.name, "SQL")
    return f"{kind} {name}".strip()


def _repricings(
    engine: Engine, account_id: str, start_ms: int, end_ms: int
) -> tuple[Repricing, ...]:
    """Return the re-pricings that may have changed the account's entries of a range."""
    return tuple(
        it
        for it in reversed(past_repricings(engine))
        if it.changed_entries and it.start_ms < end_ms and it.end_ms > start_ms
        if it.scope.account_ids is None or account_id in it.scope.account_ids
    )


def _missing(search: Search | None, start_ms: int, end_ms: int) -> int | None:
    if search is None:
        return None
    return sum(it.size for it in search.missing if it.from_ms < end_ms and it.to_ms >= start_ms)
