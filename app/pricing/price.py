"""What one model's tokens cost, and the arithmetic of one request. Pure values.

Money is whole nano-dollars; rates are whole nano-dollars a million tokens, so that a price of
$0.0375 a million tokens loses nothing. A request's cost is rounded once, to the nearest
nano-dollar.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from typing import Protocol

import orjson

#: Rates are for so many tokens.
PER_TOKENS = 1_000_000


class Tokens(Protocol):
    """Token counts, of a usage or of an event: whole and >= 0."""

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
    """Nano-dollars a million tokens, each kind of token apart."""

    input: int
    cached: int
    cache_write: int
    input_audio: int
    cached_audio: int
    output: int
    reasoning: int
    output_audio: int


#: What a kind of token costs where the vendor names no rate of its own for it.
SAME_AS: Mapping[str, str] = {
    "cached": "input",
    "cache_write": "input",
    "input_audio": "input",
    "cached_audio": "cached",
    "reasoning": "output",
    "output_audio": "output",
}


def complete_rates(given: Mapping[str, int]) -> Rates:
    """Return rates whose gaps are filled as SAME_AS says; `input` and `output` must be given."""
    rates = dict(given)
    for name, other in SAME_AS.items():  # a later one may refer to an earlier one
        rates.setdefault(name, rates[other])
    return Rates(**rates)


@dataclass(frozen=True)
class Price:
    """A price in force: what a prompt of more than so many tokens makes all the request cost.

    `tiers` are in ascending order and begin at -1; `name` says whose price it is.
    """

    name: str
    tiers: tuple[tuple[int, Rates], ...]

    @cached_property
    def price_id(self) -> str:
        """The name under which the ledger keeps the price: another rate is another name."""
        digest = hashlib.sha256(repr([(s, astuple(r)) for s, r in self.tiers]).encode())
        return f"{self.name}#{digest.hexdigest()[:12]}"

    def encode(self) -> str:
        """Return the tiers as JSON, so that a cost can be checked long after."""
        tiers = [{"above_prompt_tokens": max(0, s), **asdict(r)} for s, r in self.tiers]
        return orjson.dumps(tiers).decode()

    def cost_nanousd(self, usage: Tokens) -> int:
        """Return what the tokens cost, to the nearest nano-dollar.

        Counts that are parts of others are taken out of them, never added. Of audio that may also
        be cached, as much is taken for cached as must be. A vendor's parts that exceed the whole
        are charged as they are, and nothing else.
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
    """When a price is in force: from a day on, or every day between two times; UTC.

    `daily_s` are seconds after midnight; a span may go past it.
    """

    from_day: date | None = None
    daily_s: tuple[int, int] | None = None

    def covers(self, moment: datetime) -> bool:
        """Say whether the price is in force at a moment in UTC."""
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
    """One model's prices: the last whose term covers the moment is in force, else the first.

    A price None says that the model is known, and what its completions cost is not.
    """

    terms: tuple[tuple[EffectivePeriod, Price | None], ...]

    def at(self, at_ms: int) -> Price | None:
        """Return the price in force at a time in Unix milliseconds."""
        if len(self.terms) == 1:
            return self.terms[0][1]
        return self.in_force(at_ms)[1]

    def in_force(self, at_ms: int) -> tuple[EffectivePeriod, Price | None]:
        """Return the price in force at a time in Unix milliseconds, and its term."""
        moment = datetime.fromtimestamp(at_ms / 1000, UTC)
        covering = (it for it in reversed(self.terms) if it[0].covers(moment))
        return next(covering, self.terms[0])
