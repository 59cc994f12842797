"""The price of one model's tokens, and the cost of one request. No I/O.

Costs are whole nano-dollars. Rates are whole nano-dollars per million tokens, so a price of $0.0375
per million tokens is exact. A request's cost is rounded once, to the nearest nano-dollar.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from typing import Protocol

import orjson

#: The number of tokens that rates are for.
PER_TOKENS = 1_000_000


class Tokens(Protocol):
    """The token counts of a usage or an event: whole numbers >= 0."""

    @property
    def prompt_tokens(self) -> int: ...
    @property
    def completion_tokens(self) -> int: ...
    @property
    def cached_tokens(self) -> int: ...
    @property
    def cache_write_tokens(self) -> int: ...
    @property
    def audio_prompt_tokens(self) -> int: ...
    @property
    def audio_completion_tokens(self) -> int: ...
    @property
    def reasoning_tokens(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Nano-dollars per million tokens, for each kind of token."""

    input: int
    cached: int
    cache_write: int
    input_audio: int
    cached_audio: int
    output: int
    reasoning: int
    output_audio: int


#: Kind of token -> the kind whose rate applies if it has no rate of its own.
SAME_AS: Mapping[str, str] = {
    "cached": "input",
    "cache_write": "input",
    "input_audio": "input",
    "cached_audio": "cached",
    "reasoning": "output",
    "output_audio": "output",
}


def complete_rates(given: Mapping[str, int]) -> Rates:
    """Return rates with missing ones filled from SAME_AS; `input` and `output` are required."""
    rates = dict(given)
    for name, other in SAME_AS.items():  # in order: a rate may refer to an earlier one
        rates.setdefault(name, rates[other])
    return Rates(**rates)


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
        """The ID under which the ledger stores the price; different rates have different IDs."""
        digest = hashlib.sha256(repr([(s, astuple(r)) for s, r in self.tiers]).encode())
        return f"{self.name}#{digest.hexdigest()[:12]}"

    def encode(self) -> str:
        """Return the tiers as JSON, so that a cost can be verified later."""
        tiers = [{"above_prompt_tokens": max(0, s), **asdict(r)} for s, r in self.tiers]
        return orjson.dumps(tiers).decode()

    def cost_nanousd(self, usage: Tokens) -> int:
        """Return the cost of the tokens, to the nearest nano-dollar.

        Counts that are parts of others are subtracted from them, so each token is charged once.
        Cached audio is the smallest overlap that the counts imply. If the parts exceed the total,
        only the parts are charged.
        """
        rates = self._rates(usage.prompt_tokens)
        prompt, cached, written = usage.prompt_tokens, usage.cached_tokens, usage.cache_write_tokens
        audio = usage.audio_prompt_tokens
        cached_audio = min(audio, cached, max(0, cached + written + audio - prompt))
        reasoning, spoken = usage.reasoning_tokens, usage.audio_completion_tokens
        total = (
            max(0, prompt - cached - written - audio + cached_audio) * rates.input
            + (cached - cached_audio) * rates.cached
            + written * rates.cache_write
            + (audio - cached_audio) * rates.input_audio
            + cached_audio * rates.cached_audio
            + max(0, usage.completion_tokens - reasoning - spoken) * rates.output
            + reasoning * rates.reasoning
            + spoken * rates.output_audio
        )
        return (total + PER_TOKENS // 2) // PER_TOKENS

    def _rates(self, prompt_tokens: int) -> Rates:
        rates = self.tiers[0][1]
        for above, higher in self.tiers[1:]:
            if prompt_tokens > above:
                rates = higher
        return rates


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
