"""The ledger: posts usage events as entries, and their sums as rollups, exactly once.

Does not know the stream that events come from, nor how they are asked for.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any

import orjson
from sqlalchemy import (
    JSON,
    Connection,
    CursorResult,
    Engine,
    Insert,
    Text,
    bindparam,
    cast,
    column,
    func,
    select,
    update,
)

from app.completion import USAGE_COUNTS
from app.database import insert, write
from app.tables import ROLLUP_KEY, ROLLUP_MEASURES, SLOT_S, entries, rollups
from app.usage.event import UsageEvent

_FIELDS: tuple[str, ...] = tuple(f.name for f in fields(UsageEvent))
#: Events sent to the database in one statement, so that memory stays flat.
_AT_ONCE = 5000

_values = attrgetter(*_FIELDS)
_counts = attrgetter(*USAGE_COUNTS)


@dataclass(frozen=True, slots=True)
class Ledger:
    """What every account used, in SQL."""

    engine: Engine

    def post(self, events: Iterable[UsageEvent]) -> int:
        """Post entries and their rollups in one transaction; return how many were new.

        Shapes: any number of events, in any order.
        Repeats: a known `event_id` is a no-op, also within `events`, so a batch may be posted
        again; of two events with one id, the first posted stays. Only an `abandoned` one, which
        is our guess at what a dead process did, gives way to the true one.
        Raises: LedgerUnavailable, nothing posted; in the rare case that the connection broke in
        the commit, everything posted, and posting again tells.
        """
        first: dict[str, UsageEvent] = {}
        for event in events:
            known = first.setdefault(event.event_id, event)
            if known.is_provisional and not event.is_provisional:
                first[event.event_id] = event
        if not first:
            return 0
        # Every writer takes its locks in the order of the keys, so that no two wait in a circle.
        batch = [first[event_id] for event_id in sorted(first)]
        return write(self.engine, lambda connection: _post(connection, batch))


def _post(connection: Connection, batch: Sequence[UsageEvent]) -> int:
    posted: list[UsageEvent] = []
    superseded: list[tuple[UsageEvent, UsageEvent]] = []
    for start in range(0, len(batch), _AT_ONCE):
        part = batch[start : start + _AT_ONCE]
        new = frozenset(_add_entries(connection, part))
        posted += [event for event in part if event.event_id in new]
        repeated = [event for event in part if event.event_id not in new]
        superseded += _supersede(connection, repeated)
    add_to_rollups(connection, summed(posted, superseded))
    return len(posted)


def _supersede(
    connection: Connection, events: Sequence[UsageEvent]
) -> list[tuple[UsageEvent, UsageEvent]]:
    """Put true events in the place of abandoned ones; return each pair, the old one first."""
    true = {event.event_id: event for event in events if not event.is_provisional}
    if not true:
        return []
    provisional = entries.c.status == "abandoned"
    known = connection.execute(
        select(entries)
        .where(entries.c.event_id.in_(sorted(true)), provisional)
        .order_by(entries.c.event_id)
        .with_for_update()
    )
    pairs = [(UsageEvent(**row), true[row["event_id"]]) for row in known.mappings().all()]
    for _, event in pairs:
        values = dict(zip(_FIELDS, _values(event), strict=True))
        connection.execute(
            update(entries).where(entries.c.event_id == event.event_id, provisional).values(values)
        )
    return pairs


def _add_entries(connection: Connection, events: Sequence[UsageEvent]) -> Iterable[str]:
    """Add the entries that are not there yet; return the ids of those."""
    rows = [dict(zip(_FIELDS, _values(event), strict=True)) for event in events]
    statement = insert(connection, entries).on_conflict_do_nothing(index_elements=["event_id"])
    return _execute(connection, statement.returning(entries.c.event_id), rows).scalars()


def add_to_rollups(connection: Connection, rows: list[dict[str, Any]]) -> None:
    """Add rows of measures, in the order of their keys, to the rollups with these keys."""
    if not rows:
        return
    statement = insert(connection, rollups)
    added = {name: rollups.c[name] + statement.excluded[name] for name in ROLLUP_MEASURES}
    _execute(
        connection, statement.on_conflict_do_update(index_elements=ROLLUP_KEY, set_=added), rows
    )


def _execute(
    connection: Connection, statement: Insert, rows: list[dict[str, Any]]
) -> CursorResult[Any]:
    """Insert rows of the statement's table, all in the order given."""
    if connection.dialect.name == "postgresql":
        # One parameter for all: with one for each value, PostgreSQL takes ten times as long.
        columns = statement.table.c
        source = (
            func.json_to_recordset(cast(bindparam("rows", type_=Text), JSON))
            .table_valued(*(column(it.name, it.type) for it in columns))
            .render_derived(with_types=True)
        )
        statement = statement.from_select(columns.keys(), select(source))
        return connection.execute(statement, {"rows": orjson.dumps(rows).decode()})
    return connection.execute(statement, rows)


def summed(
    events: Iterable[UsageEvent], superseded: Iterable[tuple[UsageEvent, UsageEvent]] = ()
) -> list[dict[str, Any]]:
    """Return what is to be added to the rollups, in the order of their keys.

    Of each pair in `superseded`, the first event is taken out again and the second put in.
    """
    sums: defaultdict[tuple[Any, ...], list[int]] = defaultdict(lambda: [0] * len(ROLLUP_MEASURES))

    def add(event: UsageEvent, sign: int) -> None:
        row = sums[_rollup_key(event)]
        for index, measure in enumerate(_measures(event)):
            row[index] += sign * measure

    for event in events:
        add(event, 1)
    for old, new in superseded:
        add(old, -1)
        add(new, 1)
    names = (*ROLLUP_KEY, *ROLLUP_MEASURES)
    return [dict(zip(names, (*key, *sums[key]), strict=True)) for key in sorted(sums)]


def _rollup_key(event: UsageEvent) -> tuple[Any, ...]:
    slot_s = event.started_at_ms // (SLOT_S * 1000) * SLOT_S
    return (event.account_id, slot_s, event.api_key_id, event.vendor, event.model)


def _measures(event: UsageEvent) -> tuple[int, ...]:
    return (1, event.status == "failed", event.source == "estimated", *_counts(event))
