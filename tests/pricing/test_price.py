"""The cost of tokens: whole nano-dollars, and each token charged once."""

from datetime import date
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.pricing.price import EffectivePeriod, Price, PriceHistory
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
