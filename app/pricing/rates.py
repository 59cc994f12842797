"""Parses rates, which people write in dollars per million tokens, into whole nano-dollars."""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from app.pricing.price import Price, Rates, complete_rates
from app.vocabulary.money import dollars, nearest_nanousd

#: The highest rate in dollars per million tokens, so that sums of costs fit 64 bits.
LIMIT_USD = 1_000_000

RATE_NAMES: tuple[str, ...] = tuple(Rates.__dataclass_fields__)

#: Rates that people write for a thousand; all others are for a million.
PER_THOUSAND: frozenset[str] = frozenset({"web_search"})


class RatesError(ValueError):
    """A rate is invalid; the message names it."""


def load_price(name: str, rates: Mapping[str, Any]) -> Price | None:
    """Return the price for a table of rates; None if the rate of input or output is missing.

    A rate is in dollars per million tokens (or thousand, of PER_THOUSAND), or a list of pairs of a
    number of prompt tokens, which a prompt must exceed, and dollars; the first number is 0.
    Raises: RatesError.
    """
    tiers = {kind: _tiers(kind, rates[kind]) for kind in RATE_NAMES if kind in rates}
    if "input" not in tiers or "output" not in tiers:
        return None
    starts = sorted({start for kind in tiers.values() for start, _ in kind})
    return Price(name, tuple((start, _rates_at(tiers, start)) for start in starts))


def _rates_at(tiers: Mapping[str, list[tuple[int, int]]], start: int) -> Rates:
    return complete_rates(
        {kind: next(r for s, r in reversed(pairs) if s <= start) for kind, pairs in tiers.items()}
    )


def _tiers(kind: str, rate: Any) -> list[tuple[int, int]]:
    """Return pairs of (prompt tokens to exceed, nano-dollars per million); the first is at -1."""
    if not isinstance(rate, list):
        return [(-1, _nanousd(kind, rate))]
    try:
        pairs = [(start, _nanousd(kind, dollars)) for start, dollars in rate]
    except (TypeError, ValueError) as exc:
        if isinstance(exc, RatesError):
            raise
        raise RatesError(
            f"{kind} must be a number, or a list of pairs of tokens and dollars"
        ) from exc
    starts = [start for start, _ in pairs]
    ascending = all(type(s) is int for s in starts) and starts == sorted(set(starts))
    if not starts or starts[0] != 0 or not ascending:
        raise RatesError(f"{kind} must begin at 0 tokens and ascend")
    return [(-1, pairs[0][1]), *pairs[1:]]


def _nanousd(kind: str, dollars: Any) -> int:
    if isinstance(dollars, bool) or not isinstance(dollars, int | str | Decimal):
        raise RatesError(f"{kind} is not a number of dollars")
    try:
        number = Decimal(dollars)
    except InvalidOperation as exc:
        raise RatesError(f"{kind} is not a number of dollars") from exc
    if not number.is_finite() or not 0 <= number <= LIMIT_USD:
        raise RatesError(f"{kind} must be from 0 to {LIMIT_USD} dollars per million tokens")
    return nearest_nanousd(number * (1000 if kind in PER_THOUSAND else 1))


def rate_name(kind: str) -> str:
    """Return the name of a column of rates, with their unit."""
    return f"{kind}_usd_per_{'thousand' if kind in PER_THOUSAND else 'million'}"


def shown_rate(kind: str, nanousd: int | None) -> str | None:
    """Return a rate in dollars, as people write it; None if it is unknown."""
    if nanousd is None:
        return None
    return dollars(nanousd // 1000 if kind in PER_THOUSAND else nanousd)
