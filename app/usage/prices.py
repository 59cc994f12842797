"""The price book: what a vendor's model costs at a time, from a deployment's file and our snapshot.

Knows no ledger. An unknown price is None, never 0.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from app.completion import Usage
from app.usage.event import UsageEvent
from app.usage.price import Price, PriceHistory, Term
from app.usage.price_file import DEFAULT_FILE, PriceFile
from app.usage.price_snapshot import Snapshot

#: Models whose prices are remembered; callers make names up, so there must be a bound.
REMEMBERED = 4096

#: (who served, names of the model there, the surest first) -> prices.
Finder = Callable[[str, tuple[str, ...]], PriceHistory]

#: Of a model that nobody knows.
UNKNOWN = PriceHistory(((Term(), None),))


class Cost(NamedTuple):
    """What a request cost, and by which price; None where that is not known.

    A request that used nothing costs 0, whatever its model's price is.
    """

    nanousd: int | None
    price: Price | None

    @property
    def price_id(self) -> str | None:
        """The price's name in the ledger."""
        return None if self.price is None else self.price.price_id


@dataclass(frozen=True, slots=True)
class PriceBook:
    """Prices by vendor and model; thread-safe, and fast for what was asked before."""

    find: Finder

    def price(self, vendor: str, *models: str, at_ms: int | None = None) -> Price | None:
        """Return the price in force of the first of `models` that has one; now, unless told."""
        return self.find(vendor, models).at(time.time_ns() // 1_000_000 if at_ms is None else at_ms)

    def cost_nanousd(
        self, vendor: str, model: str, usage: Usage, at_ms: int | None = None
    ) -> int | None:
        """Return what so many tokens of a model cost, in nano-dollars, or None."""
        price = self.price(vendor, model, at_ms=at_ms)
        return None if price is None else price.cost_nanousd(usage)

    def cost(self, event: UsageEvent) -> Cost:
        """Return what a request cost, by the prices of the vendor that served it."""
        if not (event.total_tokens or event.prompt_tokens or event.completion_tokens):
            return Cost(0, None)
        vendor = event.vendor_served or event.vendor
        names = (event.model_served, event.model) if event.model_served else (event.model,)
        price = self.price(vendor, *names, at_ms=event.started_at_ms)
        return Cost(None if price is None else price.cost_nanousd(event), price)


def load_prices(path: Path | None = None) -> PriceBook:
    """Return the prices that come with Tollgate, with a deployment's own file laid over them.

    Raises: ConfigError when that file is of no use.
    """
    shipped = PriceFile.read(DEFAULT_FILE)
    return _book(PriceFile.read(path).over(shipped) if path else shipped, Snapshot.load())


def _book(file: PriceFile, snapshot: Snapshot) -> PriceBook:
    @lru_cache(REMEMBERED)
    def find(vendor: str, models: tuple[str, ...]) -> PriceHistory:
        provider = file.providers.get(vendor)
        known = (snapshot.find(provider, model) for model in models if provider is not None)
        below = next((it for it in known if it is not None), UNKNOWN)
        fitting = (file.fitting(f"{vendor}/{model}") for model in models)
        rows = next((it for it in fitting if it), [])
        # In a history the last term counts, in a file the first row.
        return PriceHistory((*below.terms, *((row.term, row.price) for row in reversed(rows))))

    return PriceBook(find)


#: Knows no price at all.
NO_PRICES = PriceBook(lambda _vendor, _models: UNKNOWN)
