"""Reads the rates that an entry was priced with."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import orjson
from sqlalchemy import Engine, select

from app.ledger.posting import Entry
from app.storage.sql.tables import prices
from app.storage.sql.transactions import reading

#: The ids of an entry's prices are joined by `+`; each ends with a digest.
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


def read_used_prices(engine: Engine, entry: Entry) -> list[UsedPrice]:
    """Return the prices of an entry, in its order; none if its price was unknown.

    Of a price with tiers, the rates are those of the entry's longest prompt of a call.
    Raises: LedgerUnavailable.
    """
    price_ids = _PRICE_ID.findall(entry.price_id or "")
    if not price_ids:
        return []
    statement = select(prices.c.price_id, prices.c.rates).where(prices.c.price_id.in_(price_ids))
    with reading(engine) as connection:
        tiers = {row.price_id: orjson.loads(row.rates) for row in connection.execute(statement)}
    event = entry.event
    prompt = max((it.prompt_tokens for it in event.calls), default=event.prompt_tokens)
    return [UsedPrice(it, _rates(tiers[it], prompt)) for it in price_ids if it in tiers]


def _rates(tiers: list[dict[str, int]], prompt: int) -> dict[str, int]:
    applied = [it for it in tiers if prompt > it[_TIER_START]] or tiers[:1]
    return {kind: rate for kind, rate in applied[-1].items() if kind != _TIER_START}
