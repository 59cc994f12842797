"""What a re-pricing changes: its scope, its parts, and the new cost of each entry. Only reads."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, select, tuple_

from app.ledger.posting import Entry, entry_of
from app.ledger.reports.query import UsageQuery
from app.ledger.reports.reader import conditions
from app.pricing.price import Price
from app.pricing.price_book import PriceBook
from app.storage.sql.tables import entries
from app.usage.cost import Cost, cost_of

#: (started_at_ms, event_id): the order in which entries are re-priced.
EntryKey = tuple[int, str]


@dataclass(frozen=True, slots=True)
class Scope:
    """The accounts and models to re-price; None: all. Models are `vendor/name`, as requested."""

    account_ids: frozenset[str] | None = None
    models: frozenset[str] | None = None

    def conditions(self) -> list[ColumnElement[bool]]:
        """Return the scope as conditions on `entries`."""
        query = UsageQuery(0, 0, account_ids=self.account_ids, models=self.models)
        return conditions(query, entries)


EVERYTHING = Scope()


class CostChange(NamedTuple):
    """How many requests change their cost, and their costs before and after, in nano-dollars."""

    requests: int
    old_nanousd: int
    new_nanousd: int


@dataclass(frozen=True, slots=True)
class RepricingBatch:
    """The result of one transaction.

    `examined` and `changed` count entries, `added_nanousd` is the change of their total cost, and
    `last` is the last examined entry. `price_ids` counts changed entries by their new price; None
    stands for entries without usage, which have no price. `changes` has the changed entries by
    account and requested model.
    """

    examined: int
    changed: int
    added_nanousd: int
    last: EntryKey
    price_ids: Counter[str | None]
    changes: Mapping[tuple[str, str], CostChange]


@dataclass(frozen=True, slots=True)
class Part:
    """The next entries to re-price: those after `last` and before `end_ms`, `size` at most."""

    last: EntryKey
    end_ms: int
    size: int
    scope: Scope

    def after(self, last: EntryKey) -> "Part":
        """Return the part that follows the entry `last`."""
        return Part(last, self.end_ms, self.size, self.scope)

    def select(self) -> Select[tuple[object, ...]]:
        """Return a SELECT of the entries, in the order in which they are re-priced."""
        key = (entries.c.started_at_ms, entries.c.event_id)
        return (
            select(entries)
            .where(entries.c.started_at_ms >= self.last[0], entries.c.started_at_ms < self.end_ms)
            .where(tuple_(*key) > self.last, *self.scope.conditions())
            .order_by(*key)
            .limit(self.size)
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """Entries, the pairs of (old, new) ones that differ, and the prices of all."""

    examined: list[Entry]
    changed: list[tuple[Entry, Entry]] = field(default_factory=list)
    used: dict[str, Price] = field(default_factory=dict)

    def report(self) -> RepricingBatch:
        """Return what the plan changes; it must have examined an entry."""
        newest = self.examined[-1].event
        changes = _changes(self.changed)
        return RepricingBatch(
            len(self.examined),
            len(self.changed),
            sum(it.new_nanousd - it.old_nanousd for it in changes.values()),
            (newest.started_at_ms, newest.event_id),
            Counter(new.price_id for _, new in self.changed),
            changes,
        )


def _changes(changed: Sequence[tuple[Entry, Entry]]) -> dict[tuple[str, str], CostChange]:
    found: defaultdict[tuple[str, str], CostChange] = defaultdict(lambda: CostChange(0, 0, 0))
    for old, new in changed:
        key = (new.event.account_id, f"{new.event.vendor}/{new.event.model}")
        known, costs = found[key], (old.cost_nanousd or 0, new.cost_nanousd or 0)
        found[key] = CostChange(
            known.requests + 1, known.old_nanousd + costs[0], known.new_nanousd + costs[1]
        )
    return dict(found)


def plan_of(
    connection: Connection, statement: Select[tuple[object, ...]], prices: PriceBook
) -> Plan:
    """Return the plan for the entries of a SELECT.

    Entries whose price is unknown to `prices` stay as they are.
    """
    batch = [entry_of(row) for row in connection.execute(statement).mappings()]
    priced = [(old, cost_of(old.event, prices)) for old in batch]
    pairs = [(old, _priced(old, cost)) for old, cost in priced if _is_known(old, cost)]
    used = {price.price_id: price for _, cost in priced for price in cost.prices}
    return Plan(batch, [(old, new) for old, new in pairs if new != old], used)


def _is_known(old: Entry, cost: Cost) -> bool:
    return cost.nanousd is not None or old.event.is_empty


def _priced(old: Entry, cost: Cost) -> Entry:
    return Entry(old.event, cost.nanousd, cost.price_id)
