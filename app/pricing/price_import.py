"""Converts the prices of the installed package `genai-prices` to the rows of `config/prices.json`.

Needs that package (the extra `prices`). Importing it takes 100 MB of memory and half a second, so
no server imports this module. The package is never asked to download prices.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import genai_prices
import orjson
from genai_prices.data import providers
from genai_prices.types import (
    ConditionalPrice,
    ModelInfo,
    ModelPrice,
    StartDateConstraint,
    TieredPrices,
    TimeOfDateConstraint,
)

from app.pricing.service_tier import tier_of
from app.vocabulary.money import dollars, nearest_nanousd

#: Tollgate's name of a rate -> genai-prices' name. Both state them for the same number of tokens or
#: searches. Prices of other things are ignored.
KEYS: Mapping[str, str] = {
    "input": "input_mtok",
    "cached": "cache_read_mtok",
    "cache_write": "cache_write_mtok",
    "input_audio": "input_audio_mtok",
    "cached_audio": "cache_audio_read_mtok",
    "output": "output_mtok",
    "reasoning": "output_reasoning_mtok",
    "output_audio": "output_audio_mtok",
    "cache_write_1h": "cache_write_1h_mtok",
    "input_image": "input_image_mtok",
    "cached_image": "cache_image_read_mtok",
    "output_image": "output_image_mtok",
    "web_search": "web_searches_kcount",
}


def snapshot_rows() -> dict[str, Any]:
    """Return the content of `config/prices.json`: all providers' models, in matching order."""
    return {
        "version": f"genai-prices {genai_prices.__version__}",
        "providers": {it.id: _provider(it) for it in sorted(providers, key=lambda it: it.id)},
    }


def encode_rows(rows: Mapping[str, Any]) -> bytes:
    """Return the rows as JSON with one line per model, so that changes are readable in a diff."""
    parts = [b'{"version":' + orjson.dumps(rows["version"]) + b',"providers":{']
    blocks = []
    for name, provider in rows["providers"].items():
        models = b",\n".join(orjson.dumps(model) for model in provider["models"])
        fallbacks = orjson.dumps(provider["fallbacks"])
        head = orjson.dumps(name) + b':{"fallbacks":' + fallbacks
        blocks.append(head + b',"models":[\n' + models + b"]}")
    return b"\n".join([*parts, b",\n".join(blocks), b"}}\n"])


def _provider(provider: Any) -> dict[str, Any]:
    return {
        "fallbacks": list(provider.fallback_model_providers or ()),
        "models": [_model(model) for model in provider.models],
    }


def _model(model: ModelInfo) -> dict[str, Any]:
    prices = model.prices
    periods = [ConditionalPrice(prices=prices)] if isinstance(prices, ModelPrice) else prices
    rows = [_when(it.constraint) | {"rates": dict(_rates(it.prices))} for it in periods]
    row: dict[str, Any] = {"id": model.id, "match": _clause(model.match), "prices": rows}
    if model.context_window is not None:
        row["context"] = model.context_window
    tiers = {tier: _tier(model, periods, context) for tier, context in _contexts(model).items()}
    return row | {"tiers": tiers} if tiers else row


def _contexts(model: ModelInfo) -> dict[str, dict[str, str]]:
    """Return the service tiers that a model has prices for, with genai-prices' conditions of each.

    Other conditions (a region, a kind of search) are ignored: no response states them.
    """
    whens = [variant.when for variant in model.price_variants or ()]
    named = {when["service_tier"] for when in whens if when.keys() == {"service_tier"}}
    contexts = {tier: {"service_tier": tier} for tier in sorted(named) if tier_of(tier) == tier}
    batch = {"processing": "batch"}
    return {"batch": batch, **contexts} if batch in whens else contexts


def _tier(
    model: ModelInfo, periods: Sequence[Any], context: dict[str, str]
) -> list[dict[str, Any]]:
    """Return a tier's rows: its own rates, or the standard rates of the time where it has none."""
    variants = [it for it in model.price_variants or () if it.when == context]
    first = min(map(_first_day, variants))
    days = {_first_day(it) for it in (*variants, *periods)}
    return [
        ({} if day == date.min else {"from": day.isoformat()})
        | {"rates": dict(_rates(model.get_prices(_midnight(day), context)))}
        for day in sorted(day for day in days if day >= first)
    ]


def _first_day(it: Any) -> date:
    if it.constraint is None:
        return date.min
    if isinstance(it.constraint, StartDateConstraint):
        return it.constraint.start_date
    raise TypeError("a service tier's price has an unsupported constraint")


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _when(constraint: Any) -> dict[str, Any]:
    if constraint is None:
        return {}
    if isinstance(constraint, StartDateConstraint):
        return {"from": constraint.start_date.isoformat()}
    if isinstance(constraint, TimeOfDateConstraint):
        return {"daily": [_utc(constraint.start_time), _utc(constraint.end_time)]}
    raise TypeError(f"genai-prices has an unsupported constraint: {type(constraint).__name__}")


def _utc(at: time) -> str:
    if at.tzinfo is None:
        return at.isoformat()
    moment = datetime.combine(date(1970, 1, 1), at).astimezone(UTC)
    return moment.time().isoformat()


def _rates(price: ModelPrice) -> Iterator[tuple[str, Any]]:
    for name, key in KEYS.items():
        rate = getattr(price, key)
        if isinstance(rate, TieredPrices):
            above = [[tier.start, _dollars(tier.price)] for tier in rate.tiers]
            yield name, [[0, _dollars(rate.base)], *above]
        elif rate is not None:
            yield name, _dollars(rate)


def _dollars(rate: Decimal) -> str:
    """Return dollars rounded to nano-dollars, because smaller digits are rounding errors."""
    return dollars(nearest_nanousd(rate))


def _clause(clause: Any) -> dict[str, Any]:
    ((name, value),) = vars(clause).items()
    kind = name.rstrip("_")
    return {kind: [_clause(part) for part in value] if isinstance(value, list) else value}
