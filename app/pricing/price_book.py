"""The price book: the price of a vendor's model at a time, from price files and the snapshot.

Does not depend on the ledger. An unknown price is None, never 0.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path

from app.pricing.kinds import Tokens
from app.pricing.price import EffectivePeriod, Price, PriceHistory
from app.pricing.price_file import DEFAULT_FILE, PriceFile
from app.pricing.service_tier import tier_of
from app.pricing.snapshot import Snapshot
from app.settings import ConfigError

#: Models whose prices are cached. The cache is bounded, because callers choose model names.
CACHE_SIZE = 4096

#: (vendor that served, the model's names with the most reliable first, service tier) -> prices.
Finder = Callable[[str, tuple[str, ...], str | None], PriceHistory]

#: The prices of an unknown model.
UNKNOWN = PriceHistory(((EffectivePeriod(), None),))


@dataclass(frozen=True, slots=True)
class PriceBook:
    """Prices by vendor, model and service tier; thread-safe and cached.

    `unknown` returns a vendor's prices for a model of unknown price: a budget reserves the highest.
    `context` returns the most tokens of a vendor's model, prompt and completion; None if unknown.
    """

    find: Finder
    unknown: Callable[[str], tuple[Price, ...]] = lambda _vendor: ()
    context: Callable[[str, str], int | None] = lambda _vendor, _model: None

    def price(
        self, vendor: str, *models: str, at_ms: int | None = None, tier: str | None = None
    ) -> Price | None:
        """Return the effective price of the first of `models` that has one; None if unknown.

        `at_ms` defaults to now. `tier` is a vendor's name for a service tier.
        """
        return self.find(vendor, models, tier_of(tier)).at(_now_ms() if at_ms is None else at_ms)

    def effective(
        self, vendor: str, model: str, *, at_ms: int | None = None, tier: str | None = None
    ) -> tuple[EffectivePeriod, Price | None]:
        """Return the effective price of a model, and its period; `at_ms` defaults to now."""
        history = self.find(vendor, (model,), tier_of(tier))
        return history.effective(_now_ms() if at_ms is None else at_ms)

    def cost_nanousd(
        self,
        vendor: str,
        model: str,
        tokens: Tokens,
        at_ms: int | None = None,
        tier: str | None = None,
    ) -> int | None:
        """Return the cost of one call with these tokens; None if a price is unknown."""
        price = self.price(vendor, model, at_ms=at_ms, tier=tier)
        return None if price is None else price.cost_nanousd(tokens)

    def served(
        self, vendor: str, names: tuple[str, ...], tier: str | None, at_ms: int
    ) -> Price | None:
        """Return the effective price of a call that was served; None if unknown.

        `names` are the model's names, the most reliable first; `tier` is as in `price`.
        """
        return self.find(vendor, names, None if tier is None else tier_of(tier)).at(at_ms)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def load_prices(path: Path | None = None) -> PriceBook:
    """Return the prices that come with Tollgate, overridden by a deployment's own file.

    Raises: ConfigError when that file is invalid.
    """
    shipped, snapshot = PriceFile.read(DEFAULT_FILE), Snapshot.load()
    if path is None:
        return _book(shipped, snapshot)
    own = PriceFile.read(path)
    if problems := list(_unknown_providers(own, shipped, snapshot)):
        raise ConfigError("\n".join(f"{path}: {problem}" for problem in problems))
    return _book(own.merged_over(shipped), snapshot)


def _unknown_providers(own: PriceFile, shipped: PriceFile, snapshot: Snapshot) -> Iterator[str]:
    """Yield a problem for each provider of which there are no prices.

    It may be the name of a vendor entry: `bedrock` charges the prices of the provider `aws`.
    """
    for vendor, provider in own.providers.items():
        if provider not in snapshot.providers:
            near = get_close_matches(provider, snapshot.providers, 1)
            meant = shipped.providers.get(provider, near[0] if near else None)
            hint = f"is {meant!r} meant?" if meant else "its names are those in config/prices.json"
            yield f"[providers] {vendor}: there is no provider {provider!r}; {hint}"


def _book(file: PriceFile, snapshot: Snapshot) -> PriceBook:
    @lru_cache(CACHE_SIZE)
    def find(vendor: str, models: tuple[str, ...], tier: str | None) -> PriceHistory:
        provider = file.providers.get(vendor)
        known = (snapshot.find(provider, model, tier) for model in models if provider is not None)
        below = next((it for it in known if it is not None), UNKNOWN)
        rows = file.fitting_any((f"{vendor}/{model}" for model in models), tier)
        # In a history, the last period has priority; in a file, the first row.
        return PriceHistory((*below.periods, *((row.period, row.price) for row in reversed(rows))))

    @lru_cache(CACHE_SIZE)
    def unknown(vendor: str) -> tuple[Price, ...]:
        # The response may name any model for which the vendor has a price here.
        stated = () if file.unknown is None else (file.unknown,)
        return (*stated, *file.of_vendor(vendor))

    @lru_cache(CACHE_SIZE)
    def context(vendor: str, model: str) -> int | None:
        provider = file.providers.get(vendor)
        return None if provider is None else snapshot.context(provider, model)

    return PriceBook(find, unknown, context)


#: A price book without prices.
NO_PRICES = PriceBook(lambda _vendor, _models, _tier: UNKNOWN)
