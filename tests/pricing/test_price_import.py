"""The snapshot compared with genai-prices: the same models and the same costs."""

from datetime import UTC, datetime
from decimal import Decimal

import genai_prices
import pytest
from genai_prices.data import providers
from genai_prices.types import ModelInfo

from app.pricing.price_import import KEYS, encode_rows, snapshot_rows
from app.pricing.snapshot import SNAPSHOT_FILE, Snapshot
from app.vocabulary.completion import Usage

#: 2026-11-15T02:00:00Z: after every price's first day, within DeepSeek's dear hours.
AT_MS = 1_794_708_000_000

USAGES = [
    Usage(prompt_tokens=1_000, completion_tokens=77),
    Usage(prompt_tokens=1_000, cached_tokens=900, completion_tokens=77, reasoning_tokens=70),
    Usage(prompt_tokens=1_000, cached_tokens=300, cache_write_tokens=400, completion_tokens=3),
    Usage(prompt_tokens=900_000, cached_tokens=5, cache_write_tokens=6, completion_tokens=7),
    Usage(prompt_tokens=900, image_prompt_tokens=700, cached_tokens=100, completion_tokens=3),
    Usage(prompt_tokens=9, completion_tokens=800, image_completion_tokens=700),
    Usage(prompt_tokens=90, cache_write_tokens=80, cache_write_1h_tokens=30, completion_tokens=1),
    Usage(prompt_tokens=90, completion_tokens=1, web_search_calls=3),
    Usage(prompt_tokens=50, audio_prompt_tokens=20, completion_tokens=9, audio_completion_tokens=9),
]


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    """The prices that come with Tollgate."""
    return Snapshot.load()


def test_the_prices_that_come_with_tollgate_are_those_of_the_release_they_name() -> None:
    assert SNAPSHOT_FILE.read_bytes() == encode_rows(snapshot_rows())


def theirs_nanousd(model: ModelInfo, usage: Usage) -> Decimal:
    """Return genai-prices' own cost."""
    counts = genai_prices.Usage(
        input_tokens=usage.prompt_tokens,
        cache_read_tokens=usage.cached_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        input_audio_tokens=usage.audio_prompt_tokens,
        cache_audio_read_tokens=0,
        output_tokens=usage.completion_tokens,
        output_reasoning_tokens=usage.reasoning_tokens,
        output_audio_tokens=usage.audio_completion_tokens,
        cache_write_1h_tokens=usage.cache_write_1h_tokens,
        input_image_tokens=usage.image_prompt_tokens,
        cache_image_read_tokens=0,
        output_image_tokens=usage.image_completion_tokens,
        web_searches=usage.web_search_calls,
    )
    at = datetime.fromtimestamp(AT_MS / 1000, UTC)
    rates = model.get_prices(at)
    # Prices of what no completion has (hours, pages, characters) are left out of the comparison.
    ours = {key: value for key in KEYS.values() if (value := getattr(rates, key)) is not None}
    cost = type(rates)(**ours).calc_price(counts)
    return cost["total_price"] * 10**9


def test_every_model_of_every_provider_costs_what_genai_prices_says(snapshot: Snapshot) -> None:
    compared, wrong = 0, []
    for provider in providers:
        for model in provider.models:
            found = snapshot.find(provider.id, model.id)
            if provider.find_model(model.id) is not model or found is None:
                continue
            price = found.at(AT_MS)
            if price is None:
                continue
            for usage in USAGES:
                cost_nanousd = price.cost_nanousd(usage)
                if cost_nanousd is None:  # of what has no price, they take another price, or none
                    assert price.unpriced_kinds(usage)
                    continue
                compared += 1
                theirs = theirs_nanousd(model, usage)
                if abs(cost_nanousd - theirs) > 1:
                    wrong.append((provider.id, model.id, usage, price, theirs))
    assert wrong == []
    assert compared > 5_000


@pytest.mark.parametrize(
    ("provider", "names"),
    [
        ("openai", ["gpt-4o-2024-08-06", "GPT-4o", "gpt-4o-20240806", "o3", "nonsense", ""]),
        ("azure", ["gpt-4o", "gpt-4o-mini-2024-07-18", "deepseek-chat", "my-deployment"]),
        ("anthropic", ["claude-sonnet-4-5-20250929", "claude-opus-5-20260101", "claude"]),
        ("google", ["gemini-2.5-flash", "gemini-2.5-flash-tts", "claude-sonnet-4-5@20250929"]),
        ("aws", ["us.anthropic.claude-3-5-sonnet-20241022-v2:0", "amazon.nova-lite-v1:0"]),
        ("x-ai", ["grok-4.3-20260301", "grok-4"]),
        ("nobody", ["gpt-4o"]),
    ],
)
def test_a_name_finds_the_same_model_as_in_genai_prices(
    snapshot: Snapshot, provider: str, names: list[str]
) -> None:
    theirs = next((it for it in providers if it.id == provider), None)
    for name in names:
        model = theirs.find_model(name, all_providers=providers) if theirs else None
        found = snapshot.find(provider, name)
        assert (found is None) == (model is None), name
        if found and model and (price := found.at(AT_MS)):
            assert price.name.partition("/")[2] == model.id
