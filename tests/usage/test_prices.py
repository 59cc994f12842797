"""The price book: whose price, of which model, from when; unknown is unknown."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.completion import Usage
from app.settings import ConfigError
from app.usage.prices import NO_PRICES, PriceBook, load_prices
from tests.usage.events import usage_event

TOKENS = Usage(prompt_tokens=1_000_000, completion_tokens=0, total_tokens=1_000_000)


def ms(*day: int) -> int:
    return int(datetime(*day, tzinfo=UTC).timestamp() * 1000)  # type: ignore[misc, arg-type]


@pytest.fixture(scope="module")
def shipped() -> PriceBook:
    """The prices that come with Tollgate."""
    return load_prices()


def book(tmp_path: Path, text: str) -> PriceBook:
    path = tmp_path / "own.toml"
    path.write_text(text)
    return load_prices(path)


def row(model: str, dollars: str, more: str = "") -> str:
    return f'[[prices]]\nmodel = "{model}"\ninput = {dollars}\noutput = {dollars}\n{more}\n'


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
        ("sandbox", "echo?delay_ms=50"),
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
def test_an_unknown_price_is_none_and_never_nothing(
    shipped: PriceBook, vendor: str, model: str
) -> None:
    assert shipped.price(vendor, model) is None
    assert shipped.cost_nanousd(vendor, model, TOKENS) is None
    event = usage_event(vendor=vendor, model=model, vendor_served=vendor, model_served=None)
    assert shipped.cost(event) == (None, None)
    assert NO_PRICES.cost(usage_event()).nanousd is None


def test_who_served_sets_the_price_by_its_own_name_of_the_model_or_the_callers(
    shipped: PriceBook,
) -> None:
    def name(**changes: str | None) -> str | None:
        price = shipped.cost(usage_event(vendor="azure", model="mine", **changes)).price
        return price.name if price else None

    assert name(vendor_served="openai", model_served="gpt-4o-2024-08-06") == "openai/gpt-4o"
    assert name(vendor_served="azure", model_served="gpt-4o-2024-08-06") == "openai/gpt-4o"
    assert name(vendor_served="azure", model_served="mine") is None
    by_asked = usage_event(vendor="openai", model="gpt-4o", model_served="odd", vendor_served=None)
    assert shipped.cost(by_asked).price == shipped.price("openai", "gpt-4o")


def test_a_request_that_used_nothing_costs_nothing(shipped: PriceBook) -> None:
    nothing = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    assert shipped.cost(usage_event(model="unknown", **nothing)) == (0, None)


def test_a_file_of_ones_own_is_laid_over_the_prices_that_come_with_tollgate(tmp_path: Path) -> None:
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
    price = own.cost(served).price
    assert price is not None
    assert price.name == "file:azure/my-deployment"


def test_the_first_row_in_force_counts_and_before_them_what_comes_with_tollgate(
    tmp_path: Path,
) -> None:
    own = book(
        tmp_path,
        row("openai/gpt-4o", "9", "from = 2026-10-01")
        + row("openai/*", "8", "from = 2026-09-01")
        + row("openai/gpt-4o", "7", "from = 2026-09-15"),
    )
    found = [
        own.cost_nanousd("openai", "gpt-4o", TOKENS, at_ms=at_ms)
        for at_ms in (ms(2026, 8, 31), ms(2026, 9, 1), ms(2026, 9, 20), ms(2026, 10, 1))
    ]
    assert found == [2_500_000_000, 8 * 10**9, 8 * 10**9, 9 * 10**9]
    assert own.cost_nanousd("openai", "o-x", TOKENS, at_ms=ms(2026, 8, 31)) is None


def test_numbers_of_a_file_are_exact(tmp_path: Path) -> None:
    own = book(tmp_path, row("x/m", "0.1") + row("x/n", "[[0, 0.3], [10, 0.7]]"))
    assert own.cost_nanousd("x", "m", Usage(prompt_tokens=3)) == 300
    assert own.cost_nanousd("x", "n", Usage(prompt_tokens=11)) == 7_700


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("nonsense", "cannot be read"),
        ("[price]\n", "price is neither"),
        ("prices = 5\n", "prices must be tables"),
        ("[providers]\nopenai = 5\n", "name of a provider"),
        ('[[prices]]\nmodel = "openai/x"\ninput = 1\n', "no. 1: input and output are required"),
        (row("openai", "1"), "model must be"),
        (row("openai/x", "-1"), "input must be from 0"),
        (row("openai/x", "1", "from = 5"), "from must be a day"),
        (row("openai/x", "1", "from = 2026-01-01T00:00:00Z"), "from must be a day"),
        (row("openai/x", "1", "cahced = 1"), "cahced is not known"),
        (row("openai/x", "nan"), "input must be from 0"),
    ],
)
def test_a_file_of_no_use_is_refused_with_what_is_wrong(
    tmp_path: Path, text: str, problem: str
) -> None:
    with pytest.raises(ConfigError, match=problem):
        book(tmp_path, text)


def test_a_file_says_all_that_is_wrong_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refusal:
        book(tmp_path, row("openai", "1", "x = 1") + row("b/c", "-1"))
    assert len(str(refusal.value).splitlines()) == 3


def test_names_that_callers_make_up_take_no_memory_without_bound(shipped: PriceBook) -> None:
    for n in range(5_000):
        assert shipped.price("openai", f"made-up-{n}") is None
    assert shipped.find.cache_info().currsize <= 4_096  # type: ignore[attr-defined]
