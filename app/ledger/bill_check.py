"""Compares a vendor's bill with the ledger, by day and model."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import chain
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Engine,
    case,
    func,
    literal_column,
    select,
)

from app.ledger.bill import MEASURES, Bill, Lines
from app.ledger.entry_calls import entry_calls
from app.ledger.retention import require_entries
from app.storage.sql.postgresql import without_time_limit
from app.storage.sql.tables import entries
from app.storage.sql.transactions import reading

DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class BillDifference:
    """A token count that differs; None if one side has nothing for the day and model.

    `estimated_requests` counts the ledger's requests whose tokens Tollgate estimated.
    """

    day: date
    model: str
    measure: str
    billed: int | None
    recorded: int | None
    estimated_requests: int


def compare(engine: Engine, bill: Bill, vendors: Iterable[str]) -> list[BillDifference]:
    """Return the differences between the bill and the requests that `vendors` served.

    The ledger's model is the vendor's name for it, or the requested one if the vendor gave none. In
    the bill, it may be written `vendor/name`.
    Raises: UsagePruned, LedgerUnavailable.
    """
    names = sorted(set(vendors))
    billed = _without_vendors(bill.lines, names)
    recorded = _recorded(engine, bill, names)
    return [
        difference
        for key in sorted(billed.keys() | recorded.keys())
        for difference in _differences(key, bill.measures or MEASURES[:2], billed, recorded)
    ]


def _without_vendors(lines: Lines, vendors: Iterable[str]) -> dict[tuple[date, str], Any]:
    plain: dict[tuple[date, str], Any] = {}
    for (day, model), counts in lines.items():
        prefix = next((f"{it}/" for it in vendors if model.startswith(f"{it}/")), "")
        known = plain.setdefault((day, model.removeprefix(prefix)), defaultdict(int))
        for measure, count in counts.items():
            known[measure] += count
    return plain


def _recorded(engine: Engine, bill: Bill, vendors: list[str]) -> dict[tuple[date, str], Any]:
    """Return the ledger's counts for the bill's days, by day and model."""
    start_ms = _midnight_ms(bill.first)
    within = (
        entries.c.started_at_ms >= start_ms,
        entries.c.started_at_ms < _midnight_ms(bill.last) + DAY_MS,
        entries.c.source != "none",
    )
    found: defaultdict[tuple[date, str], dict[str, int]] = defaultdict(
        lambda: dict.fromkeys((*MEASURES, "estimated_requests"), 0)
    )
    with reading(engine) as connection:
        without_time_limit(connection)
        for day, model, *counts in chain(
            _single_calls(connection, within, vendors), _several_calls(connection, within, vendors)
        ):
            known = found[date(1970, 1, 1) + timedelta(days=day), model]
            for name, count in zip(known, counts, strict=True):
                known[name] += int(count)
        require_entries(connection, start_ms // 1000)
    return found


def _single_calls(
    connection: Connection, within: Iterable[ColumnElement[bool]], vendors: list[str]
) -> Iterable[Any]:
    """Return (day, model, *counts) of the requests that took one call, summed."""
    day = (entries.c.started_at_ms // literal_column(str(DAY_MS), BigInteger)).label("day")
    model = func.coalesce(entries.c.model_served, entries.c.model).label("model")
    statement = (
        select(
            day,
            model,
            func.sum(entries.c.prompt_tokens),
            func.sum(entries.c.completion_tokens),
            func.sum(entries.c.total_tokens),
            func.sum(case((entries.c.source == "estimated", 1), else_=0)),
        )
        .where(
            *within,
            entries.c.calls.is_(None),
            func.coalesce(entries.c.vendor_served, entries.c.vendor).in_(vendors),
        )
        .group_by(day, model)
    )
    return connection.execute(statement).all()


def _several_calls(
    connection: Connection, within: Iterable[ColumnElement[bool]], vendors: list[str]
) -> Iterator[Any]:
    """Yield (day, model, *counts) of each call to `vendors`, for requests that took several."""
    for calls, at_ms, source in entry_calls(connection, *within):
        for call in (it for it in calls if it.vendor in vendors):
            usage, is_estimated = call.usage, source == "estimated"
            counts = (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens)
            yield at_ms // DAY_MS, call.model_served or call.model, *counts, is_estimated


def _midnight_ms(day: date) -> int:
    return int(datetime.combine(day, datetime.min.time(), UTC).timestamp()) * 1000


def _differences(
    key: tuple[date, str],
    measures: Iterable[str],
    billed: Mapping[tuple[date, str], Mapping[str, int]],
    recorded: Mapping[tuple[date, str], Mapping[str, int]],
) -> Iterator[BillDifference]:
    theirs, ours = billed.get(key), recorded.get(key)
    for measure in measures:
        their_count = None if theirs is None else theirs.get(measure, 0)
        our_count = None if ours is None else ours[measure]
        if (their_count or 0) != (our_count or 0):
            estimated = 0 if ours is None else ours["estimated_requests"]
            yield BillDifference(*key, measure, their_count, our_count, estimated)
