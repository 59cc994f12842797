"""The cost of tokens: whole nano-dollars, and each token charged once."""

from datetime import date
from decimal import Decimal
from fractions import Fraction

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.pricing.price import EffectivePeriod, Price, PriceHistory, decode_tiers
from tests.pricing.dollars import price, usage

#: Noon, 2026-09-01 UTC.
NOON_MS = 1_788_264_000_000
DAY_MS = 86_400_000


def test_ten_thousand_tiny_requests_cost_exactly_what_one_large_one_does() -> None:
    tiny = price(input="0.15", output="0").cost_nanousd(usage(prompt_tokens=1))
    assert tiny == 150
    assert sum(tiny for _ in range(10_000)) == 1_500_000  # $0.0015
    assert price(input="0.15").cost_nanousd(usage(prompt_tokens=10_000)) == 1_500_000


def test_a_rate_below_a_nano_dollar_a_token_is_kept_until_the_end() -> None:
    half = price(input="0.0375")
    assert half.cost_nanousd(usage(prompt_tokens=2)) == 75
    assert half.cost_nanousd(usage(prompt_tokens=1)) == 38  # rounded once, to the nearest
    assert price(input=Decimal("0.000001")).cost_nanousd(usage(prompt_tokens=1_000_000)) == 1_000


@pytest.mark.parametrize(
    ("counts", "rates", "expected"),
    [
        ({"prompt_tokens": 100, "completion_tokens": 5}, {}, 100_000 + 50_000),
        # cached tokens are a part of the prompt, charged at their own rate where there is one
        ({"prompt_tokens": 100, "cached_tokens": 80}, {"cached": "0.1"}, 20_000 + 8_000),
        ({"prompt_tokens": 100, "cached_tokens": 80}, {}, 100_000),
        (
            {"prompt_tokens": 100, "cached_tokens": 30, "cache_write_tokens": 50},
            {"cached": "0.1", "cache_write": "1.25"},
            20_000 + 3_000 + 62_500,
        ),
        # reasoning is a part of the completion
        ({"completion_tokens": 50, "reasoning_tokens": 40}, {}, 500_000),
        ({"completion_tokens": 50, "reasoning_tokens": 40}, {"reasoning": "3"}, 100_000 + 120_000),
        (
            {
                "prompt_tokens": 10,
                "audio_prompt_tokens": 4,
                "completion_tokens": 6,
                "audio_completion_tokens": 6,
            },
            {"input_audio": "32", "output_audio": "64"},
            6_000 + 128_000 + 384_000,
        ),
        # of ten tokens, eight cached and five spoken: three must be both
        (
            {"prompt_tokens": 10, "cached_tokens": 8, "audio_prompt_tokens": 5},
            {"cached": "0.1", "input_audio": "32", "cached_audio": "4"},
            5 * 100 + 2 * 32_000 + 3 * 4_000,
        ),
        # a vendor's part that exceeds its whole takes nothing away from it
        ({"prompt_tokens": 5, "cached_tokens": 8}, {"cached": "0.1"}, 800),
        # predictions are inside the completion, and cost what it does
        ({"completion_tokens": 9, "rejected_prediction_tokens": 4}, {}, 90_000),
        # a vendor's total is no count of its own
        ({"prompt_tokens": 1, "total_tokens": 999}, {}, 1_000),
    ],
)
def test_each_kind_of_token_is_charged_once_at_its_rate(
    counts: dict[str, int], rates: dict[str, str], expected: int
) -> None:
    assert price(**rates).cost_nanousd(usage(**counts)) == expected


@pytest.mark.parametrize(
    ("counts", "rates", "nanousd"),
    [
        # what is written to a cache is charged as written, and not as input again
        (
            {"prompt_tokens": 1_006, "cache_write_tokens": 1_000, "completion_tokens": 10},
            {"input": "5", "cache_write": "6.25", "output": "25"},
            6_530_000,
        ),
        # pictures that a model draws cost ten times what its text does
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 1_320,
                "image_completion_tokens": 1_120,
                "reasoning_tokens": 200,
            },
            {"input": "2", "output": "12", "output_image": "120"},
            136_820_000,
        ),
        # two searches at $10 a thousand, on top of the tokens
        (
            {"prompt_tokens": 100, "completion_tokens": 5, "web_search_calls": 2},
            {"web_search": "10"},
            20_000_000 + 150_000,
        ),
        # an offer to search, without a search, costs nothing
        ({"prompt_tokens": 100, "web_search_calls": 0}, {"web_search": "10"}, 100_000),
        ({"prompt_tokens": 100, "web_search_calls": 0}, {}, 100_000),
        # writes for an hour, beside some for five minutes
        (
            {"prompt_tokens": 100, "cache_write_tokens": 90, "cache_write_1h_tokens": 40},
            {"cache_write": "1.25", "cache_write_1h": "2"},
            10_000 + 62_500 + 80_000,
        ),
        # images in a prompt are billed as its text, unless they have a rate
        ({"prompt_tokens": 10, "image_prompt_tokens": 4}, {}, 10_000),
        ({"prompt_tokens": 10, "image_prompt_tokens": 4}, {"input_image": "3"}, 6_000 + 12_000),
        (
            {"prompt_tokens": 10, "image_prompt_tokens": 10, "cached_tokens": 10},
            {"cached": "0.1", "input_image": "3"},
            1_000,
        ),
    ],
)
def test_images_searches_and_the_life_of_a_cache_have_their_own_prices(
    counts: dict[str, int], rates: dict[str, str], nanousd: int
) -> None:
    assert price(**rates).cost_nanousd(usage(**counts)) == nanousd


@pytest.mark.parametrize(
    ("counts", "kind"),
    [
        ({"completion_tokens": 5, "image_completion_tokens": 1}, "output_image"),
        (
            {"prompt_tokens": 5, "cache_write_tokens": 5, "cache_write_1h_tokens": 1},
            "cache_write_1h",
        ),
        ({"prompt_tokens": 5, "web_search_calls": 1}, "web_search"),
    ],
)
def test_what_has_no_price_makes_the_cost_unknown_and_not_lower(
    counts: dict[str, int], kind: str
) -> None:
    known = price(cache_write="9")
    assert known.cost_nanousd(usage(**counts)) is None
    assert known.unpriced_kinds(usage(**counts)) == [kind]
    assert price(**{kind: "0"}).cost_nanousd(usage(**counts)) is not None


def test_a_price_without_new_kinds_is_stored_as_the_version_before_does() -> None:
    """Both run beside each other, and their prices of the same rates are the same."""
    known = price(cached="0.5", input=[[0, "1"], [10, "2"]])
    assert known.price_id == "x/m#1b017696f918"
    assert known.encode_later() is None
    assert set(orjson.loads(known.encode())[0]) == {
        "above_prompt_tokens",
        "input",
        "cached",
        "cache_write",
        "input_audio",
        "cached_audio",
        "output",
        "reasoning",
        "output_audio",
    }


def test_a_stored_price_is_read_as_it_was() -> None:
    for known in (
        price(),
        price(output_image="7", web_search=[[0, "1"], [5, "2"]], input_image="1", cached_image="3"),
        price(cache_write_1h="0"),
    ):
        tiers = decode_tiers(known.encode(), known.encode_later())
        assert tiers == [(max(0, above), rates) for above, rates in known.tiers]
    assert price(output_image="7").price_id != price(output_image="8").price_id


def test_a_long_prompt_raises_the_rates_of_the_whole_request() -> None:
    tiered = price(input=[[0, "1"], [200_000, "2"]], output=[[0, "10"], [200_000, "15"]])
    at, above = (
        tiered.cost_nanousd(usage(prompt_tokens=n, completion_tokens=10))
        for n in (200_000, 200_001)
    )
    assert (at, above) == (200_000_000 + 100_000, 400_002_000 + 150_000)


@given(
    st.integers(0, 10**9),
    st.integers(0, 10**9),
    st.decimals(0, 1000, places=9),
    st.decimals(0, 1000, places=9),
)
def test_the_cost_is_the_true_one_to_half_a_nano_dollar(
    prompt: int, completion: int, dollars_in: Decimal, dollars_out: Decimal
) -> None:
    cost = price(input=dollars_in, output=dollars_out).cost_nanousd(
        usage(prompt_tokens=prompt, completion_tokens=completion)
    )
    assert cost is not None
    true = (prompt * Fraction(dollars_in) + completion * Fraction(dollars_out)) * 1000
    assert abs(cost - true) <= Fraction(1, 2)


def test_another_rate_is_another_price_and_the_same_is_the_same() -> None:
    assert price(cached="0.5").price_id == price(cached="0.50").price_id
    assert price(cached="0.5").price_id != price(cached="0.6").price_id
    assert price().price_id.startswith("x/m#")


def history(*terms: EffectivePeriod) -> PriceHistory:
    """Return a history of an unconditional price of $1, and of $2, $3, … for each period."""
    later = [(term, price(input=n)) for n, term in enumerate(terms, 2)]
    return PriceHistory(((EffectivePeriod(), price()), *later))


def dollars(found: Price | None) -> int:
    assert found is not None
    return found.tiers[0][1].input // 10**9


def test_a_price_is_effective_from_the_first_instant_of_its_day() -> None:
    rising = history(EffectivePeriod(date(2026, 9, 1)), EffectivePeriod(date(2026, 9, 2)))
    midnight_ms = NOON_MS - DAY_MS // 2
    instants = (midnight_ms - 1, midnight_ms, midnight_ms + DAY_MS - 1, midnight_ms + DAY_MS)
    assert [dollars(rising.at(at_ms)) for at_ms in instants] == [1, 2, 2, 3]


def test_a_daily_price_is_effective_between_its_times_even_past_midnight() -> None:
    hour = 3_600
    by_day, by_night = (
        history(EffectivePeriod(None, (hour, 4 * hour))),
        history(EffectivePeriod(None, (22 * hour, hour))),
    )
    hours = (0, 1, 3, 4, 21, 22, 23)
    midnight_ms = NOON_MS - DAY_MS // 2
    times = [midnight_ms + h * hour * 1000 for h in hours]
    assert [dollars(by_day.at(at_ms)) for at_ms in times] == [1, 2, 2, 1, 1, 1, 1]
    assert [dollars(by_night.at(at_ms)) for at_ms in times] == [2, 1, 1, 1, 1, 2, 2]


def test_cached_audio_costs_what_cached_text_does_where_it_has_no_rate_of_its_own() -> None:
    counts = usage(prompt_tokens=100, cached_tokens=100, audio_prompt_tokens=100)
    assert price(cached="0.1", input_audio="30").cost_nanousd(counts) == 10_000
    assert price(cached="0.1", cached_audio="2").cost_nanousd(counts) == 200_000
    assert price(input_audio="30").cost_nanousd(counts) == 100_000  # of text that is not cached
