"""The prices that come with Tollgate: `config/prices.json`, which `tollgate prices import` writes.

They are genai-prices' (MIT, https://github.com/pydantic/genai-prices): a provider's models in the
order in which they are tried, each with a clause that a model's name must match.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, time
from pathlib import Path
from typing import Any

import orjson

from app.pricing.price import EffectivePeriod, Price, PriceHistory
from app.pricing.rates import load_price
from app.settings import CONFIG_DIR

SNAPSHOT_FILE = CONFIG_DIR / "prices.json"

Match = Callable[[str], bool]
#: A model's prices by service tier; the standard tier is None.
Tiers = Mapping[str | None, PriceHistory]
Models = list[tuple[Match, Tiers]]

#: Of a tier whose price is not known.
NO_SUCH_TIER = PriceHistory(((EffectivePeriod(), None),))

#: A date without dashes, which some vendors write at the end of a model's name.
_COMPACT_DATE = re.compile(r"-(20\d{2})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)")


@dataclass(slots=True)
class Snapshot:
    """Every provider's models; one provider's are made ready when they are first asked for."""

    version: str
    providers: Mapping[str, Mapping[str, Any]]
    _ready: dict[str, Models] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path = SNAPSHOT_FILE) -> "Snapshot":
        """Read the file."""
        content = orjson.loads(path.read_bytes())
        return cls(content["version"], content["providers"])

    def find(self, provider: str, model: str, tier: str | None = None) -> PriceHistory | None:
        """Return the prices of a provider's model, whose name may bear a date, in a service tier.

        None says that the model is not known.
        """
        name = model.lower()
        dashed = _COMPACT_DATE.sub(r"-\1-\2-\3", name)
        tiers = self._match(provider, name) or (
            self._match(provider, dashed) if dashed != name else None
        )
        return None if tiers is None else tiers.get(tier, NO_SUCH_TIER)

    def _match(self, provider: str, name: str) -> Tiers | None:
        others = self.providers.get(provider, {}).get("fallbacks", ())
        for it in (provider, *others):
            for matches, tiers in self._models(it):
                if matches(name):
                    return tiers
        return None

    def _models(self, provider: str) -> Models:
        if provider not in self._ready:
            rows = self.providers.get(provider, {}).get("models", ())
            self._ready[provider] = [_load_model(provider, row) for row in rows]
        return self._ready[provider]


def _load_model(provider: str, row: Mapping[str, Any]) -> tuple[Match, Tiers]:
    name = f"{provider}/{row['id']}"
    tiers: dict[str | None, PriceHistory] = {None: PriceHistory(_terms(name, row["prices"]))}
    for tier, rows in row.get("tiers", {}).items():
        # Before its first day, the price of a tier is not known.
        terms = _terms(f"{name}:{tier}", rows)
        tiers[tier] = PriceHistory((*NO_SUCH_TIER.terms, *terms))
    return _clause(row["match"]), tiers


def _terms(
    name: str, rows: Sequence[Mapping[str, Any]]
) -> tuple[tuple[EffectivePeriod, Price | None], ...]:
    return tuple((_term(it), load_price(name, it["rates"])) for it in rows)


def _term(row: Mapping[str, Any]) -> EffectivePeriod:
    daily = row.get("daily")
    return EffectivePeriod(
        date.fromisoformat(row["from"]) if "from" in row else None,
        (_seconds(daily[0]), _seconds(daily[1])) if daily else None,
    )


def _seconds(text: str) -> int:
    at = time.fromisoformat(text)
    return at.hour * 3600 + at.minute * 60 + at.second


def _clause(clause: Mapping[str, Any]) -> Match:
    """Return the test of a name in lower case that a clause describes."""
    ((kind, value),) = clause.items()
    if kind in ("or", "and"):
        parts = [_clause(part) for part in value]
        quantifier = any if kind == "or" else all
        return lambda name: quantifier(part(name) for part in parts)
    if kind == "regex":
        pattern = re.compile(value)
        return lambda name: pattern.search(name) is not None
    text = value.lower()
    tests: Mapping[str, Match] = {
        "equals": lambda name: name == text,
        "starts_with": lambda name: name.startswith(text),
        "ends_with": lambda name: name.endswith(text),
        "contains": lambda name: text in name,
    }
    return tests[kind]
