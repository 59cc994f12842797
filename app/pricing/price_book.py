"""The price book: what a vendor's model costs at a time, from a deployment's file and our snapshot.

Knows no ledger. An unknown price is None, never 0.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from app.pricing.price import EffectivePeriod, Price, PriceHistory, Tokens
from app.pricing.price_file import DEFAULT_FILE, PriceFile
from app.pricing.service_tier import tier_of
from app.pricing.snapshot import Snapshot

#: Models whose prices are remembered; callers make names up, so there must be a bound.
REMEMBERED = 4096

#: (who served, names of the model there, the surest first; the service tier) -> prices.
Finder = Callable[[str, tuple[str, ...], str | None], PriceHistory]

#: Of a model that nobody knows.
UNKNOWN = PriceHistory(((EffectivePeriod(), None),))


@dataclass(frozen=True, slots=True)
class PriceBook:
    """Prices by vendor, model and service tier; thread-safe, and fast for what was asked before.

    `unknown` returns what a budget reserves the dearest of, at a vendor's model without a price.
    """

    find: Finder
    unknown: Callable[[str], tuple[Price, ...]] = lambda _vendor: ()

    def price(
        self, vendor: str, *models: str, at_ms: int | None = None, tier: str | None = None
    ) -> Price | None:
        """Return the price in force of the first of `models` that has one; now, unless told.

        `tier` is a vendor's word for how it served.
        """
        return self.find(vendor, models, tier_of(tier)).at(_now_ms() if at_ms is None else at_ms)

    def in_force(
        self, vendor: str, model: str, *, at_ms: int | None = None, tier: str | None = None
    ) -> tuple[EffectivePeriod, Price | None]:
        """Return the price in force of a model, and its term; now, unless told."""
        history = self.find(vendor, (model,), tier_of(tier))
        return history.in_force(_now_ms() if at_ms is None else at_ms)

    def cost_nanousd(
        self,
        vendor: str,
        model: str,
        tokens: Tokens,
        at_ms: int | None = None,
        tier: str | None = None,
    ) -> int | None:
        """Return what one call of so many tokens costs, in nano-dollars, or None."""
        price = self.price(vendor, model, at_ms=at_ms, tier=tier)
        return None if price is None else price.cost_nanousd(tokens)

    def served(
        self, vendor: str, names: tuple[str, ...], tier: str | None, at_ms: int
    ) -> Price | None:
        """Return the price of a call that was served; None if it is not known.

        `names` are the model's names, the surest first; `tier` is as `price` takes it.
        """
        return self.find(vendor, names, None if tier is None else tier_of(tier)).at(at_ms)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def load_prices(path: Path | None = None) -> PriceBook:
    """Return the prices that come with Tollgate, with a deployment's own file laid over them.

    Raises: ConfigError when that file is of no use.
    """
    shipped = PriceFile.read(DEFAULT_FILE)
    return _book(PriceFile.read(path).merged_over(shipped) if path else shipped, Snapshot.load())


def _book(file: PriceFile, snapshot: Snapshot) -> PriceBook:
    @lru_cache(REMEMBERED)
    def find(vendor: str, models: tuple[str, ...], tier: str | None) -> PriceHistory:
        provider = file.providers.get(vendor)
        known = (snapshot.find(provider, model, tier) for model in models if provider is not None)
        below = next((it for it in known if it is not None), UNKNOWN)
        fitting = (file.fitting(f"{vendor}/{model}", tier) for model in models)
        rows = next((it for it in fitting if it), [])
        # In a history the last term counts, in a file the first row.
        return PriceHistory((*below.terms, *((row.term, row.price) for row in reversed(rows))))

    @lru_cache(REMEMBERED)
    def unknown(vendor: str) -> tuple[Price, ...]:
        # What answers may bear the name of any model for which the vendor has a price here.
        stated = () if file.unknown is None else (file.unknown,)
        return (*stated, *file.of_vendor(vendor))

    return PriceBook(find, unknown)


#: Knows no price at all.
NO_PRICES = PriceBook(lambda _vendor, _models, _tier: UNKNOWN)
