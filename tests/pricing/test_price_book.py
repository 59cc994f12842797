"""The price book: which price applies to a model of a vendor; an unknown price is None."""

from pathlib import Path

import pytest
from msgspec import structs

from app.pricing.price_book import NO_PRICES, PriceBook, load_prices
from app.settings import ConfigError
from app.usage.cost import NO_COST, cost_of
from app.usage.messages.call_usage import CallUsage
from app.vocabulary.completion import Usage
from tests.pricing.books import TOKENS, book, ms, row
from tests.support.events import usage_event


@pytest.fixture(scope="module")
def shipped() -> PriceBook:
    """The prices that come with Tollgate."""
    return load_prices()


@pytest.mark.parametrize(
    ("vendor", "model"),
    [
        ("openai", "gpt-4o"),
        ("openai", "gpt-4o-mini-2024-07-18"),
        ("azure", "gpt-4o-2024-08-06"),
        ("anthropic", "claude-sonnet-4-5-20250929"),
        ("gemini", "gemini-2.5-flash"),
        ("vertex_ai", "gemini-2.5-pro"),
        ("bedrock", "us.anthropic.claude-3-5-sonnet-20241022-v2:0"),
        ("bedrock", "amazon.nova-lite-v1:0"),
        ("cohere", "command-r-plus"),
        ("xai", "grok-4"),
        ("mistral", "mistral-large-latest"),
        ("deepseek", "deepseek-chat"),
        ("groq", "llama-3.3-70b-versatile"),
        ("openrouter", "openai/gpt-4o"),
        ("together", "meta-llama/Llama-3.3-70B-Instruct-Turbo"),
        ("fireworks_ai", "accounts/fireworks/models/deepseek-v3p2"),
        ("sandbox", "echo"),
    ],
)
def test_the_vendors_of_the_table_have_prices(shipped: PriceBook, vendor: str, model: str) -> None:
    assert shipped.price(vendor, model) is not None


@pytest.mark.parametrize(
    ("vendor", "model"),
    [
        ("vllm", "gpt-4o"),
        ("my-openai", "gpt-4o"),
        ("openai", "no-such-model"),
        ("openai", ""),
        ("x-ai", "grok-4"),  # the name in the list of prices is no vendor's
    ],
)
def test_an_unknown_price_is_none_and_never_zero(
    shipped: PriceBook, vendor: str, model: str
) -> None:
    assert shipped.price(vendor, model) is None
    assert shipped.cost_nanousd(vendor, model, TOKENS) is None
    event = usage_event(vendor=vendor, model=model, vendor_served=vendor, model_served=None)
    assert cost_of(event, shipped) == NO_COST
    assert cost_of(usage_event(), NO_PRICES).nanousd is None


def test_who_served_sets_the_price_by_its_own_name_of_the_model_or_the_callers(
    shipped: PriceBook,
) -> None:
    def name(**changes: str | None) -> str | None:
        found = cost_of(usage_event(vendor="azure", model="mine", **changes), shipped).prices
        return found[0].name if found else None

    assert name(vendor_served="openai", model_served="gpt-4o-2024-08-06") == "openai/gpt-4o"
    assert name(vendor_served="azure", model_served="gpt-4o-2024-08-06") == "openai/gpt-4o"
    assert name(vendor_served="azure", model_served="mine") is None
    by_asked = usage_event(vendor="openai", model="gpt-4o", model_served="odd", vendor_served=None)
    assert cost_of(by_asked, shipped).prices == (shipped.price("openai", "gpt-4o"),)


@pytest.mark.parametrize("model", ["unknown", "gpt-4o"])
def test_a_request_that_used_nothing_has_no_cost(shipped: PriceBook, model: str) -> None:
    nothing = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    assert cost_of(usage_event(model=model, model_served=model, **nothing), shipped) == NO_COST


def test_a_deployments_file_overrides_the_prices_that_come_with_tollgate(tmp_path: Path) -> None:
    own = book(
        tmp_path,
        row("openai/gpt-4o*", "1")
        + row("mine/*", "2")
        + row("azure/my-deployment", "3")
        + '[providers]\nvllm = "openai"\n',
    )
    assert own.cost_nanousd("openai", "gpt-4o-2024-08-06", TOKENS) == 10**9
    assert own.cost_nanousd("mine", "any/thing:1", TOKENS) == 2 * 10**9
    assert own.cost_nanousd("vllm", "gpt-4o-mini", TOKENS) == 150_000_000
    assert own.cost_nanousd("openai", "gpt-3.5-turbo", TOKENS) == 500_000_000
    # what an operator wrote of the name that callers use outweighs what is known of the other
    served = usage_event(
        vendor="azure", model="my-deployment", vendor_served="azure", model_served="gpt-4o"
    )
    (price,) = cost_of(served, own).prices
    assert price.name == "file:azure/my-deployment"


@pytest.mark.parametrize(
    ("provider", "hint"),
    [
        ("opneai", "is 'openai' meant"),
        ("bedrock", "is 'aws' meant"),  # the vendor entry's name
        ("vertex_ai", "is 'google' meant"),
        ("", "config/prices.json"),
        ("zzz", "config/prices.json"),
    ],
)
def test_a_provider_without_prices_is_an_error(tmp_path: Path, provider: str, hint: str) -> None:
    with pytest.raises(ConfigError, match=r"own\.toml: \[providers\] mine: .*" + hint):
        book(tmp_path, f'[providers]\nmine = "{provider}"\n')


def test_a_row_for_the_name_that_callers_use_outweighs_a_glob_that_the_served_name_matches(
    tmp_path: Path,
) -> None:
    own = book(tmp_path, row("x/*", "1") + row("x/m", "9") + row("x/m-2026-02-02", "5"))

    def price(model_served: str) -> str:
        event = usage_event(vendor="x", model="m", vendor_served="x", model_served=model_served)
        return cost_of(event, own).prices[0].name

    assert price("m-2026-01-01") == price("m") == "file:x/m"
    assert price("m-2026-02-02") == "file:x/m-2026-02-02"
    other = usage_event(vendor="x", model="n", vendor_served="x", model_served="n-2026-01-01")
    assert cost_of(other, own).prices[0].name == "file:x/*"


def test_a_service_tier_has_its_own_price_or_none(tmp_path: Path) -> None:
    own = book(tmp_path, row("x/m", "4") + row("x/m", "2", 'service_tier = "Flex"'))

    def cost(word: str | None) -> int | None:
        event = usage_event(
            vendor="x", vendor_served="x", model="m", service_tier=word, prompt_tokens=10**6
        )
        return cost_of(structs.replace(event, completion_tokens=0), own).nanousd

    standard = [None, "", "default", "standard", "auto", "on_demand", "ON_DEMAND", "Default"]
    assert {cost(word) for word in standard} == {4 * 10**9}
    assert {cost(word) for word in ("flex", "FLEX", " flex ")} == {2 * 10**9}
    assert {cost(word) for word in ("priority", "scale", "batch", "new word")} == {None}


def test_tiers_of_well_known_models_are_priced(shipped: PriceBook) -> None:
    at_ms = ms(2026, 11, 1)

    def dollars(tier: str | None) -> float:
        cost = shipped.cost_nanousd("openai", "gpt-5", TOKENS, at_ms, tier)
        assert cost is not None
        return cost / 10**9

    assert [dollars(tier) for tier in (None, "flex", "priority")] == [1.25, 0.625, 2.5]
    assert shipped.price("openai", "gpt-5", tier="ultrafast") is None
    # before the day on which its price is known to have held
    assert shipped.price("openai", "gpt-5", at_ms=ms(2026, 9, 1), tier="flex") is None
    assert shipped.price("gemini", "no-such-model", tier="flex") is None


def test_each_call_has_the_price_of_its_own_prompt_and_of_who_served_it(tmp_path: Path) -> None:
    own = book(
        tmp_path,
        row("x/long", "[[0, 1], [200000, 2]]")
        + row("y/m", "3")
        + row("y/m", "5", 'service_tier = "flex"'),
    )

    def call(vendor: str, model: str, prompt_tokens: int, tier: str | None = None) -> CallUsage:
        usage = Usage(prompt_tokens=prompt_tokens, total_tokens=prompt_tokens)
        return CallUsage.of(vendor, model, None, tier, usage)

    def cost(*calls: CallUsage) -> int | None:
        total = sum(it.usage.prompt_tokens for it in calls)
        changes = {"prompt_tokens": total, "completion_tokens": 0, "total_tokens": total}
        event = usage_event(vendor="x", model="long", model_served="m", calls=calls, **changes)
        return cost_of(event, own).nanousd

    three = [call("x", "long", 100_000) for _ in range(3)]
    assert cost(*three) == 300_000_000
    assert cost(call("x", "long", 200_000)) == 200_000_000
    assert cost(call("x", "long", 200_001)) == 2 * 200_001_000
    assert cost(*three, call("y", "m", 1000), call("y", "m", 1000, "flex")) == 308_000_000
    assert cost(*three, call("y", "unknown", 1)) is None
    assert cost(*three, call("y", "m", 1, "priority")) is None


def test_a_request_of_several_prices_names_them_all(tmp_path: Path) -> None:
    own = book(tmp_path, row("x/m", "1") + row("y/m", "2"))
    usage = Usage(prompt_tokens=1, total_tokens=1)
    calls = tuple(CallUsage.of(vendor, "m", None, None, usage) for vendor in "xxy")
    cost = cost_of(usage_event(calls=calls), own)
    assert [price.name for price in cost.prices] == ["file:x/m", "file:y/m"]
    assert cost.price_id == "+".join(price.price_id for price in cost.prices)


def test_the_cache_of_model_names_is_bounded(shipped: PriceBook) -> None:
    for n in range(5_000):
        assert shipped.price("openai", f"made-up-{n}") is None
    assert shipped.find.cache_info().currsize <= 4_096  # type: ignore[attr-defined]
