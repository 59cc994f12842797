"""The price of one model's tokens, and the cost of one request. No I/O.

Costs are whole nano-dollars. Rates are whole nano-dollars per million tokens, so a price of $0.0375
per million tokens is exact. A request's cost is rounded once, to the nearest nano-dollar.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from operator import mul
from typing import NamedTuple

import orjson

from app.pricing.kinds import Kinds, Tokens, divided

#: The number of tokens that rates are for.
PER_TOKENS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Nano-dollars per million tokens, for each kind of token (`app.pricing.kinds`).

    That of `web_search` is for a million searches. None: unknown.
    """

    input: int
    cached: int
    cache_write: int
    input_audio: int
    cached_audio: int
    output: int
    reasoning: int
    output_audio: int
    cache_write_1h: int | None = None
    input_image: int
    cached_image: int
    output_image: int | None = None
    web_search: int | None = None


#: Kind of token -> the kind whose rate applies if it has no rate of its own. Vendors bill images in
#: a prompt as its text unless they say otherwise. They never do so for images that a model draws,
#: for cache writes of an hour and for searches: without a rate, the cost of these is unknown.
SAME_AS: Mapping[str, str] = {
    "cached": "input",
    "cache_write": "input",
    "input_audio": "input",
    "cached_audio": "cached",
    "reasoning": "output",
    "output_audio": "output",
    "input_image": "input",
    "cached_image": "cached",
}

#: Kinds that the version before does not know.
LATER_KINDS: tuple[str, ...] = (
    "cache_write_1h",
    "input_image",
    "cached_image",
    "output_image",
    "web_search",
)


def complete_rates(given: Mapping[str, int]) -> Rates:
    """Return rates with missing ones filled from SAME_AS; `input` and `output` are required."""
    rates = dict(given)
    for name, other in SAME_AS.items():  # in order: a rate may refer to an earlier one
        rates.setdefault(name, rates[other])
    return Rates(**rates)


def _later(rates: Rates) -> dict[str, int]:
    """Return the rates of LATER_KINDS that are not those of another kind."""
    found = asdict(rates)
    same = {name: found[SAME_AS[name]] if name in SAME_AS else None for name in LATER_KINDS}
    return {name: found[name] for name in LATER_KINDS if found[name] != same[name]}


def _former(rates: Rates) -> dict[str, int]:
    """Return the rates of the kinds that the version before knows."""
    return {name: rate for name, rate in asdict(rates).items() if name not in LATER_KINDS}


class _Tier(NamedTuple):
    """Rates in the order of Kinds, 0 if unknown, and the places of the unknown ones."""

    rates: tuple[int, ...]
    unknown: tuple[int, ...]

    @classmethod
    def of(cls, rates: Rates) -> "_Tier":
        found = [getattr(rates, name) for name in Kinds._fields]
        unknown = tuple(at for at, rate in enumerate(found) if rate is None)
        return cls(tuple(rate or 0 for rate in found), unknown)


@dataclass(frozen=True)
class Price:
    """The price of one model.

    `tiers` are pairs of a number of prompt tokens and the rates of a request whose prompt exceeds
    it, in ascending order; the first number is -1. `name` is the source and the model.
    """

    name: str
    tiers: tuple[tuple[int, Rates], ...]

    @cached_property
    def price_id(self) -> str:
        """The ID under which the ledger stores the price; different rates have different IDs.

        Without rates of LATER_KINDS, it is the ID that the version before computes.
        """
        parts = [
            (start, (*_former(rates).values(), *sorted(_later(rates).items())))
            for start, rates in self.tiers
        ]
        return f"{self.name}#{hashlib.sha256(repr(parts).encode()).hexdigest()[:12]}"

    def encode(self) -> str:
        """Return the tiers as JSON, so that a cost can be verified later.

        They have the kinds that the version before knows; `encode_later` has the other ones.
        """
        tiers = [{"above_prompt_tokens": max(0, s), **_former(r)} for s, r in self.tiers]
        return orjson.dumps(tiers).decode()

    def encode_later(self) -> str | None:
        """Return the rates of LATER_KINDS of each tier as JSON; None if all follow from others."""
        later = [_later(rates) for _, rates in self.tiers]
        return orjson.dumps(later).decode() if any(later) else None

    def cost_nanousd(self, usage: Tokens) -> int | None:
        """Return the cost of a call, to the nearest nano-dollar.

        None if it used something of which the rate is unknown: no other rate is taken for it.
        """
        kinds, (rates, unknown) = divided(usage), self._tier(usage.prompt_tokens)
        for place in unknown:
            if kinds[place]:
                return None
        total: int = sum(map(mul, kinds, rates))
        return (total + PER_TOKENS // 2) // PER_TOKENS

    def unpriced_kinds(self, usage: Tokens) -> list[str]:
        """Return the kinds that a call used, and of which the rate is unknown."""
        kinds, tier = divided(usage), self._tier(usage.prompt_tokens)
        return [Kinds._fields[place] for place in tier.unknown if kinds[place]]

    @cached_property
    def highest(self) -> Mapping[str, int]:
        """The highest rate of each kind in any tier; 0 if it is unknown."""
        tiers = [asdict(rates) for _, rates in self.tiers]
        return {kind: max(it[kind] or 0 for it in tiers) for kind in Kinds._fields}

    @cached_property
    def _by_kind(self) -> list[tuple[int, _Tier]]:
        return [(start, _Tier.of(rates)) for start, rates in self.tiers]

    def _tier(self, prompt_tokens: int) -> _Tier:
        tiers = self._by_kind
        tier = tiers[0][1]
        if len(tiers) > 1:
            for above, higher in tiers:
                if prompt_tokens > above:
                    tier = higher
        return tier


def decode_tiers(encoded: str, later: str | None) -> list[tuple[int, Rates]]:
    """Return the tiers that `encode` and `encode_later` wrote; the first applies from 0 on."""
    tiers = orjson.loads(encoded)
    extra = orjson.loads(later) if later else [{}] * len(tiers)
    return [
        (tier.pop("above_prompt_tokens"), complete_rates(tier | more))
        for tier, more in zip(tiers, extra, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class EffectivePeriod:
    """When a price is effective: from a day on, or every day between two times; UTC.

    `daily_s` are the start and the end (exclusive) in seconds after midnight; a period may
    continue past midnight.
    """

    from_day: date | None = None
    daily_s: tuple[int, int] | None = None

    def covers(self, moment: datetime) -> bool:
        """Return whether the price is effective at a moment in UTC."""
        if self.from_day is not None and moment.date() < self.from_day:
            return False
        if self.daily_s is None:
            return True
        start_s, end_s = self.daily_s
        at_s = moment.hour * 3600 + moment.minute * 60 + moment.second
        if end_s < start_s:
            return at_s >= start_s or at_s < end_s
        return start_s <= at_s < end_s


@dataclass(frozen=True, slots=True)
class PriceHistory:
    """One model's prices: the last whose period covers a time is effective, otherwise the first.

    A price of None means that the model is known, but its price is not.
    """

    periods: tuple[tuple[EffectivePeriod, Price | None], ...]

    def at(self, at_ms: int) -> Price | None:
        """Return the effective price at a time in Unix milliseconds."""
        if len(self.periods) == 1:
            return self.periods[0][1]
        return self.effective(at_ms)[1]

    def effective(self, at_ms: int) -> tuple[EffectivePeriod, Price | None]:
        """Return the effective price at a time in Unix milliseconds, and its period."""
        moment = datetime.fromtimestamp(at_ms / 1000, UTC)
        covering = (it for it in reversed(self.periods) if it[0].covers(moment))
        return next(covering, self.periods[0])
