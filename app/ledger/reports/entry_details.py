"""Reads everything that the ledger has of single requests, by the request's id."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Connection, Engine, select

from app.storage.sql.tables import entries, prices
from app.storage.sql.transactions import reading
from app.usage.messages.call_usage import CallUsage, decode_calls
from app.vocabulary.completion import USAGE_COUNTS

#: Entries of one request id that are read. Ids are unique, except those of callers who repeat one.
ENTRIES_LIMIT = 20

#: The ids of the prices that an entry was priced with are joined by `+`; each ends with a digest.
_PRICE_ID = re.compile(r"(.+?#[0-9a-f]{12})(?:\+|$)")
_TIER_START = "above_prompt_tokens"


@dataclass(frozen=True, slots=True)
class UsedPrice:
    """A price of an entry, and its rates in nano-dollars per million tokens, by kind of token."""

    price_id: str
    rates: Mapping[str, int]

    @property
    def name(self) -> str:
        """The source of the price and the model."""
        return self.price_id.rpartition("#")[0]


@dataclass(frozen=True, slots=True)
class EntryDetails:
    """One entry: its columns by name, the calls that it stores, and the prices that it has."""

    columns: Mapping[str, Any]
    calls: Sequence[CallUsage]
    prices: Sequence[UsedPrice]

    @property
    def counts(self) -> Mapping[str, int]:
        """The token counts by name."""
        return {name: self.columns[name] for name in USAGE_COUNTS}


def read_entries(
    engine: Engine, request_id: str, account_ids: frozenset[str] | None
) -> list[EntryDetails]:
    """Return the entries of a request id, newest first; only those of `account_ids`, None for all.

    Raises: LedgerUnavailable.
    """
    statement = (
        select(entries)
        .where(entries.c.request_id == request_id)
        .order_by(entries.c.started_at_ms.desc(), entries.c.event_id.desc())
        .limit(ENTRIES_LIMIT)
    )
    if account_ids is not None:
        statement = statement.where(entries.c.account_id.in_(sorted(account_ids)))
    with reading(engine) as connection:
        rows = [dict(row._mapping) for row in connection.execute(statement)]
        return [_details(connection, row) for row in rows]


def _details(connection: Connection, columns: dict[str, Any]) -> EntryDetails:
    calls = decode_calls(columns.pop("calls"))
    # The longest prompt of a call decides on the tier: a request of several calls stores no more.
    prompt = max((it.prompt_tokens for it in calls), default=columns["prompt_tokens"])
    return EntryDetails(columns, calls, list(_prices(connection, columns["price_id"], prompt)))


def _prices(connection: Connection, joined: str | None, prompt: int) -> Iterator[UsedPrice]:
    price_ids = _PRICE_ID.findall(joined or "")
    found = select(prices.c.price_id, prices.c.rates).where(prices.c.price_id.in_(price_ids))
    rates = {row.price_id: orjson.loads(row.rates) for row in connection.execute(found)}
    for price_id in price_ids:
        tiers = rates.get(price_id, ())
        applied = [it for it in tiers if prompt > it[_TIER_START]] or tiers[:1]
        if applied:
            yield UsedPrice(
                price_id, {kind: rate for kind, rate in applied[-1].items() if kind != _TIER_START}
            )
