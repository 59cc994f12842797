"""The unit prices that entries refer to, as the ledger has stored them."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, select

from app.pricing.price import Rates, decode_tiers
from app.storage.sql.tables import prices

#: Between the prices of an entry that was charged at several: each ends with twelve hex digits.
_BETWEEN = re.compile(r"(?<=#[0-9a-f]{12})\+")


@dataclass(frozen=True, slots=True)
class UnitPrice:
    """A price for prompts of more than `above_prompt_tokens`; `rates` None: they are not stored.

    Rates are in nano-dollars per million tokens.
    """

    price_id: str
    above_prompt_tokens: int
    rates: Rates | None


@dataclass(frozen=True, slots=True)
class UnitPrices:
    """All stored prices: price ID -> its tiers, in ascending order."""

    tiers: Mapping[str, tuple[UnitPrice, ...]]

    @classmethod
    def load(cls, connection: Connection) -> "UnitPrices":
        """Read the prices that any entry refers to."""
        stored = connection.execute(_ALL)
        return cls({it.price_id: _tiers(it.price_id, it.rates, it.later_rates) for it in stored})

    def thresholds(self) -> list[int]:
        """Return the numbers of prompt tokens beyond which any rate changes, in ascending order."""
        return sorted({it.above_prompt_tokens for tiers in self.tiers.values() for it in tiers[1:]})

    def applied(
        self, price_id: str | None, threshold: int, *, several_calls: bool
    ) -> tuple[UnitPrice, ...]:
        """Return the unit prices of requests with a price ID.

        `threshold` is the largest of `thresholds` that their prompts exceed, otherwise 0, and
        selects the tier that applies. Of several calls, each has its own price and its own tier:
        all that may have applied are returned.
        """
        names = _BETWEEN.split(price_id) if price_id else []
        possible = [it for name in names for it in self._of(name)]
        if several_calls or len(names) > 1:
            return tuple(possible)
        # The first tier applies from 0 on.
        return tuple(it for it in possible if it.above_prompt_tokens <= threshold)[-1:]

    def _of(self, price_id: str) -> Iterable[UnitPrice]:
        return self.tiers.get(price_id) or (UnitPrice(price_id, 0, None),)


_ALL = select(prices.c.price_id, prices.c.rates, prices.c.later_rates)


def _tiers(price_id: str, rates: str, later_rates: str | None) -> tuple[UnitPrice, ...]:
    """Return a stored price; its first tier applies from 0 on."""
    return tuple(UnitPrice(price_id, *tier) for tier in decode_tiers(rates, later_rates))
