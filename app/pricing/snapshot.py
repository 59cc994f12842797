"""The prices that come with Tollgate: `config/prices.json`, which `tollgate prices import` writes.

They are a copy of genai-prices (MIT, https://github.com/pydantic/genai-prices): each provider's
models in the order in which they are tried, with a clause that matches a model's name.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, time
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from app.pricing.price import EffectivePeriod, Price, PriceHistory
from app.pricing.rates import load_price
from app.settings import CONFIG_DIR

SNAPSHOT_FILE = CONFIG_DIR / "prices.json"

Match = Callable[[str], bool]


class Known(NamedTuple):
    """A model: its prices by service tier, the standard one None, and its context in tokens."""

    tiers: Mapping[str | None, PriceHistory]
    context: int | None


Models = list[tuple[Match, Known]]

#: The prices of a tier whose price is unknown.
UNKNOWN_TIER = PriceHistory(((EffectivePeriod(), None),))

#: A date without dashes, as some vendors append it to a model's name.
_COMPACT_DATE = re.compile(r"-(20\d{2})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)")


@dataclass(slots=True)
class Snapshot:
    """All providers' models; a provider's models are parsed at its first look-up."""

    version: str
    providers: Mapping[str, Mapping[str, Any]]
    _parsed: dict[str, Models] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path = SNAPSHOT_FILE) -> "Snapshot":
        """Return a snapshot file's content; the file must be valid, and is read once a change.

        It takes tens of milliseconds, and another price file changes more often.
        """
        at = path.stat()
        return _read(path, (at.st_mtime_ns, at.st_size, at.st_ino))

    def find(self, provider: str, model: str, tier: str | None = None) -> PriceHistory | None:
        """Return the prices of a provider's model in a service tier; None if the model is unknown.

        The model's name may end with a date.
        """
        known = self._known(provider, model)
        return None if known is None else known.tiers.get(tier, UNKNOWN_TIER)

    def context(self, provider: str, model: str) -> int | None:
        """Return the most tokens of a model's prompt and completion; None if unknown."""
        known = self._known(provider, model)
        return None if known is None else known.context

    def _known(self, provider: str, model: str) -> Known | None:
        name = model.lower()
        dashed = _COMPACT_DATE.sub(r"-\1-\2-\3", name)
        return self._match(provider, name) or (
            self._match(provider, dashed) if dashed != name else None
        )

    def _match(self, provider: str, name: str) -> Known | None:
        others = self.providers.get(provider, {}).get("fallbacks", ())
        for it in (provider, *others):
            for matches, known in self._models(it):
                if matches(name):
                    return known
        return None

    def _models(self, provider: str) -> Models:
        if provider not in self._parsed:
            rows = self.providers.get(provider, {}).get("models", ())
            self._parsed[provider] = [_load_model(provider, row) for row in rows]
        return self._parsed[provider]


@lru_cache(maxsize=1)
def _read(path: Path, _state: tuple[int, ...]) -> Snapshot:
    content = orjson.loads(path.read_bytes())
    return Snapshot(content["version"], content["providers"])


def _load_model(provider: str, row: Mapping[str, Any]) -> tuple[Match, Known]:
    name = f"{provider}/{row['id']}"
    tiers: dict[str | None, PriceHistory] = {None: PriceHistory(_periods(name, row["prices"]))}
    for tier, rows in row.get("tiers", {}).items():
        # Before its first day, the price of a tier is unknown.
        periods = _periods(f"{name}:{tier}", rows)
        tiers[tier] = PriceHistory((*UNKNOWN_TIER.periods, *periods))
    return _clause(row["match"]), Known(tiers, row.get("context"))


def _periods(
    name: str, rows: Sequence[Mapping[str, Any]]
) -> tuple[tuple[EffectivePeriod, Price | None], ...]:
    return tuple((_period(it), load_price(name, it["rates"])) for it in rows)


def _period(row: Mapping[str, Any]) -> EffectivePeriod:
    daily = row.get("daily")
    return EffectivePeriod(
        date.fromisoformat(row["from"]) if "from" in row else None,
        (_seconds(daily[0]), _seconds(daily[1])) if daily else None,
    )


def _seconds(text: str) -> int:
    at = time.fromisoformat(text)
    return at.hour * 3600 + at.minute * 60 + at.second


def _clause(clause: Mapping[str, Any]) -> Match:
    """Return a clause as a function that tests a model's name in lower case."""
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
