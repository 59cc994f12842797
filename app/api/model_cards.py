"""A model in the lists: the fields of both official clients, beside those of OpenRouter's list."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from app.api.model_parameters import parameters_of
from app.container import services
from app.pricing.price import PER_TOKENS, Price, Rates
from app.serving.routing import is_pattern
from app.vocabulary.money import NANO
from app.vocabulary.request import ENDPOINTS

#: OpenRouter's name of a rate -> ours. `web_search` is per search, all others are per token.
RATES: Mapping[str, str] = {
    "prompt": "input",
    "completion": "output",
    "input_cache_read": "cached",
    "input_cache_write": "cache_write",
    "input_cache_write_1h": "cache_write_1h",
    "internal_reasoning": "reasoning",
    "audio": "input_audio",
    "audio_output": "output_audio",
    "image_token": "input_image",
    "image_output": "output_image",
    "web_search": "web_search",
}

#: How to name a model of a pattern.
_OF_PATTERN = "Every model of `{vendor}`: as `model`, send `{model}` with its name in place of `*`."

#: What stands for the variable part of a pattern such as `gpt-*`.
_ANY = str.maketrans("*?", "xx", "[]")


def card(vendor: str, name: str) -> dict[str, Any]:
    """Return one model, or a pattern of models, of which neither price nor context is known."""
    model = f"{vendor}/{name}"
    is_one = not is_pattern(name)
    prices = services().prices
    endpoints = endpoints_of(model)
    return {
        "id": model,
        "object": "model",
        "created": 0,  # required by OpenAI's shape; the date is unknown
        "owned_by": vendor,
        "name": model,
        "description": "" if is_one else _OF_PATTERN.format(model=model, vendor=vendor),
        "model_vendor": vendor,
        "status": "ready",
        "endpoints": endpoints,
        "supported_parameters": sorted({name for names in endpoints.values() for name in names}),
        "context_length": prices.context(vendor, name) if is_one else None,
        "pricing": pricing(prices.price(vendor, name)) if is_one else None,
    }


def endpoints_of(model: str) -> dict[str, list[str]]:
    """Return the paths at which a model or a pattern can be called, and the parameters there."""
    asked, found = model.translate(_ANY) if is_pattern(model) else model, {}
    for endpoint in ENDPOINTS:
        names = parameters_of(services().completions, endpoint, asked)
        if names is not None:
            found[f"/v5/{endpoint.replace('.', '/')}"] = list(names)
    return found


def pricing(price: Price | None) -> dict[str, Any] | None:
    """Return a price as dollars per token, each a decimal in a string; None if it is unknown.

    Rates that are unknown are left out. If long prompts cost more, `tiers` has their rates.
    """
    if price is None:
        return None
    (_, first), *others = price.tiers
    shown: dict[str, Any] = dict(_rates(first))
    if others:
        shown["tiers"] = [
            {"above_prompt_tokens": above, **_rates(rates)} for above, rates in others
        ]
    return shown


def _rates(rates: Rates) -> dict[str, str]:
    found = {name: getattr(rates, kind) for name, kind in RATES.items()}
    return {name: per_unit(rate) for name, rate in found.items() if rate is not None}


def per_unit(nanousd: int) -> str:
    """Return a rate in nano-dollars per million as dollars per unit, exactly: `0.00000015`."""
    return f"{(Decimal(nanousd) / (NANO * PER_TOKENS)).normalize():f}"
