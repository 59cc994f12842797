"""Posts usage events to the ledger exactly once: events as entries, their sums as rollups.

Does not depend on the stream that delivers events, or on the queries that read entries.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter
from types import MappingProxyType
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, RowMapping, select, update

from app.ledger.bulk import Row, add_entries
from app.ledger.corrections import Change, change_of, correct
from app.ledger.latency_hours import mark_hours
from app.ledger.process_numbers import note_posted, numbers_of
from app.ledger.rollup_sums import add_to_rollups
from app.pricing.price import Price
from app.pricing.price_book import NO_PRICES, PriceBook
from app.storage.sql.tables import (
    ENDPOINT_KEY,
    HOUR_S,
    ROLLUP_MEASURES,
    SLOT_S,
    entries,
    prices,
)
from app.storage.sql.transactions import insert, write
from app.usage.cost import cost_of
from app.usage.messages.call_attempt import decode_attempts, encode_attempts
from app.usage.messages.call_usage import decode_calls, encode_calls
from app.usage.messages.event import CERTAIN_SOURCES, UsageEvent, sides_of
from app.vocabulary.completion import USAGE_COUNTS
from app.vocabulary.statuses import FAILED_STATUSES

#: Stored unchanged: all fields of an event but the last four.
_FIELDS: tuple[str, ...] = UsageEvent.__struct_fields__[:-4]
_COLUMNS: tuple[str, ...] = (*_FIELDS, "calls", "attempt_log", "cost_nanousd", "price_id")
NOT_CHARGED: Mapping[str, int] = MappingProxyType({})
#: The most entries in one statement, to bound memory.
_BATCH_SIZE = 5000

_values = attrgetter(*_FIELDS)
_counts = attrgetter(*USAGE_COUNTS)


class Entry(NamedTuple):
    """An event, its cost and the id of its price; both are None if the price is unknown."""

    event: UsageEvent
    cost_nanousd: int | None = None
    price_id: str | None = None


@dataclass(frozen=True, slots=True)
class Ledger:
    """The ledger in one database; `prices` sets the cost of the events that are posted."""

    engine: Engine
    prices: PriceBook = field(default=NO_PRICES)

    def post(self, events: Iterable[UsageEvent], charged: Mapping[str, int] = NOT_CHARGED) -> int:
        """Post entries and their rollups in one transaction; return how many were new.

        `charged` maps event ids to the nano-dollars that budgets were charged for them. If the cost
        is different, the difference is recorded as a correction.

        Shapes: any number of events, in any order.
        Repeats: a known `event_id` is a no-op, even within `events`, so a batch may be posted
        again. Of two events with the same id, the first one stays, with one exception: an
        `abandoned` event, which estimates the usage of a crashed process, is replaced by the
        request's own event.
        Raises: LedgerUnavailable, nothing posted. If the connection broke during the commit,
        everything may be posted; it is safe to post the batch again.
        """
        events = list(events)
        if not events:
            return 0
        priced, used = self._priced(_distinct(events))
        numbers = numbers_of(events)

        def work(connection: Connection) -> int:
            posted = _post(connection, priced, used, charged)
            note_posted(connection, numbers)
            return posted

        return write(self.engine, work)

    def _priced(self, batch: Sequence[UsageEvent]) -> tuple[list[Entry], dict[str, Price]]:
        """Return the entries of events, and the prices that they refer to."""
        costs = [cost_of(event, self.prices) for event in batch]
        used = {price.price_id: price for cost in costs for price in cost.prices}
        pairs = zip(batch, costs, strict=True)
        return [Entry(event, cost.nanousd, cost.price_id) for event, cost in pairs], used


def _distinct(events: Iterable[UsageEvent]) -> list[UsageEvent]:
    """Return one event of each id, in the order of ids, in which all writers lock rows."""
    first: dict[str, UsageEvent] = {}
    for event in events:
        known = first.setdefault(event.event_id, event)
        if known.is_provisional and not event.is_provisional:
            first[event.event_id] = event
    return [first[event_id] for event_id in sorted(first)]


def _post(
    connection: Connection,
    batch: Sequence[Entry],
    used: Mapping[str, Price],
    charged: Mapping[str, int],
) -> int:
    posted: list[Entry] = []
    superseded: list[tuple[Entry, Entry]] = []
    store_prices(connection, used)
    for start in range(0, len(batch), _BATCH_SIZE):
        part = batch[start : start + _BATCH_SIZE]
        new = add_entries(connection, [_row_of(entry) for entry in part])
        posted += [entry for entry in part if entry.event.event_id in new]
        repeated = [entry for entry in part if entry.event.event_id not in new]
        superseded += _supersede(connection, repeated)
    sums = summed(posted, superseded)
    add_to_rollups(connection, sums)
    counted = _changes_of_charged(posted, charged) if charged else ()
    correct(connection, chain(changes_of(superseded), counted))
    # Near the end, because other posts of these hours wait for this transaction from here on.
    mark_hours(connection, {row["slot_s"] // HOUR_S * HOUR_S for row in sums})
    return len(posted)


def store_prices(connection: Connection, used: Mapping[str, Price]) -> None:
    """Store prices by price id, before entries refer to them; skip those that are stored."""
    if used:
        rows = [
            {"price_id": it, "rates": used[it].encode(), "later_rates": used[it].encode_later()}
            for it in sorted(used)
        ]
        connection.execute(insert(connection, prices).on_conflict_do_nothing(), rows)


def _supersede(connection: Connection, batch: Sequence[Entry]) -> list[tuple[Entry, Entry]]:
    """Replace abandoned entries with their requests' own events; return (old, new) pairs."""
    true = {entry.event.event_id: entry for entry in batch if not entry.event.is_provisional}
    if not true:
        return []
    provisional = entries.c.status == "abandoned"
    known = connection.execute(
        select(entries)
        .where(entries.c.event_id.in_(sorted(true)), provisional)
        .order_by(entries.c.event_id)
        .with_for_update()
    )
    pairs = [(entry_of(row), true[row["event_id"]]) for row in known.mappings().all()]
    for _, entry in pairs:
        event_id = entry.event.event_id
        connection.execute(
            update(entries)
            .where(entries.c.event_id == event_id, provisional)
            .values(dict(zip(_COLUMNS, _row_of(entry), strict=True)))
        )
    return pairs


def entry_of(row: RowMapping) -> Entry:
    """Return a row of `entries` as an Entry."""
    values = {name: row[name] for name in _FIELDS}
    for side in ("prompt_source", "completion_source"):
        values[side] = values[side] or sides_of(row["source"])
    calls, attempts = decode_calls(row["calls"]), decode_attempts(row["attempt_log"])
    event = UsageEvent(**values, calls=calls, attempt_log=attempts)
    return Entry(event, row["cost_nanousd"], row["price_id"])


def _row_of(entry: Entry) -> Row:
    event = entry.event
    calls = encode_calls(event.calls) if event.calls else None
    attempts = encode_attempts(event.attempt_log) if event.attempt_log else None
    return (*_values(event), calls, attempts, entry.cost_nanousd, entry.price_id)


def changes_of(pairs: Iterable[tuple[Entry, Entry]]) -> Iterator[Change]:
    """Yield the change of cost from the first to the second entry of each pair."""
    for old, new in pairs:
        yield change_of(new.event, (new.cost_nanousd or 0) - (old.cost_nanousd or 0))


def _changes_of_charged(posted: Iterable[Entry], charged: Mapping[str, int]) -> Iterator[Change]:
    """Yield the change from the amounts that budgets were charged to the entries' costs."""
    for event, cost_nanousd, _ in posted:
        if (counted := charged.get(event.event_id)) is not None:
            yield change_of(event, (cost_nanousd or 0) - counted)


def summed(
    posted: Iterable[Entry], superseded: Iterable[tuple[Entry, Entry]] = ()
) -> list[dict[str, Any]]:
    """Return the rows to add to the 15-minute rollups by endpoint, in the order of their keys.

    `superseded` are (old, new) pairs: the old entry is subtracted and the new one added.
    """
    added: defaultdict[tuple[Any, ...], list[tuple[int, ...]]] = defaultdict(list)
    for entry in posted:
        added[_rollup_key(entry.event)].append(_measures(entry))
    for old, new in superseded:
        added[_rollup_key(old.event)].append(tuple(-measure for measure in _measures(old)))
        added[_rollup_key(new.event)].append(_measures(new))
    names = (*ENDPOINT_KEY, *ROLLUP_MEASURES)
    return [
        dict(zip(names, (*key, *map(sum, zip(*added[key], strict=True))), strict=True))
        for key in sorted(added)
    ]


def _rollup_key(event: UsageEvent) -> tuple[Any, ...]:
    slot_s = event.started_at_ms // (SLOT_S * 1000) * SLOT_S
    return (
        event.account_id,
        slot_s,
        event.api_key_id,
        event.vendor,
        event.model,
        event.endpoint,
    )


def _measures(entry: Entry) -> tuple[int, ...]:
    event, cost_nanousd = entry.event, entry.cost_nanousd
    failed, estimated = event.status in FAILED_STATUSES, event.source not in CERTAIN_SOURCES
    if cost_nanousd is None:
        return (1, failed, estimated, *_counts(event), 0, 0, event.is_empty)
    return (1, failed, estimated, *_counts(event), cost_nanousd, 1, 0)
