"""Reads the rates that an entry was priced with."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from sqlalchemy import Engine, select

from app.ledger.posting import Entry
from app.pricing.price import Rates, decode_tiers
from app.storage.sql.tables import prices
from app.storage.sql.transactions import reading

#: The ids of an entry's prices are joined by `+`; each ends with a digest.
_PRICE_ID = re.compile(r"(.+?#[0-9a-f]{12})(?:\+|$)")


@dataclass(frozen=True, slots=True)
class UsedPrice:
    """A price of an entry, and its rates in nano-dollars per million tokens, by kind of token.

    None: the price has no rate of that kind.
    """

    price_id: str
    rates: Mapping[str, int | None]

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
    columns = (prices.c.price_id, prices.c.rates, prices.c.later_rates)
    statement = select(*columns).where(prices.c.price_id.in_(price_ids))
    with reading(engine) as connection:
        tiers = {
            row.price_id: decode_tiers(row.rates, row.later_rates)
            for row in connection.execute(statement)
        }
    event = entry.event
    prompt = max((it.prompt_tokens for it in event.calls), default=event.prompt_tokens)
    return [UsedPrice(it, _rates(tiers[it], prompt)) for it in price_ids if it in tiers]


def _rates(tiers: list[tuple[int, Rates]], prompt: int) -> dict[str, int | None]:
    applied = [rates for above, rates in tiers if prompt > above] or [tiers[0][1]]
    return asdict(applied[-1])
