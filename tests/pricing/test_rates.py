"""Rates, as people write them."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from app.pricing.rates import RatesError, load_price, rate_name, shown_rate
from tests.pricing.dollars import price, usage


def test_a_rate_without_tiers_applies_above_the_tiers_of_another() -> None:
    tiered = price(input=[[0, "1"], [10, "2"]], cached="0.5")
    counts = usage(prompt_tokens=20, cached_tokens=20, completion_tokens=1)
    assert tiered.cost_nanousd(counts) == 20 * 500 + 10_000


@pytest.mark.parametrize(
    ("rates", "problem"),
    [
        ({"input": -1}, "from 0 to"),
        ({"input": "a"}, "not a number"),
        ({"input": True}, "not a number"),
        ({"input": 0.1}, "not a number"),  # a float is not exact: files are read as decimals
        ({"input": "NaN"}, "from 0 to"),
        ({"input": None}, "not a number"),
        ({"input": []}, "begin at 0"),
        ({"input": [[5, 1]]}, "begin at 0"),
        ({"input": [[0, 1], [0, 2]]}, "ascend"),
        ({"input": [[0, 1], [2]]}, "pairs"),
        ({"input": [1, 2]}, "pairs"),
        ({"output": [[0, "x"]]}, "output is not a number"),
        ({"web_search": "x"}, "web_search is not a number"),
    ],
)
def test_an_invalid_rate_is_rejected_by_name(rates: Mapping[str, Any], problem: str) -> None:
    with pytest.raises(RatesError, match=problem):
        price(**rates)


@pytest.mark.parametrize("rates", [{}, {"input": 1}, {"output": 1}, {"cached": 1}])
def test_without_a_rate_of_input_or_output_there_is_no_price(rates: Mapping[str, Any]) -> None:
    assert load_price("x/m", rates) is None


@pytest.mark.parametrize(
    ("dollars", "nanousd"),
    [("0.0375", 37_500_000), (Decimal("0.0000000014"), 1), (1_000_000, 10**15), (0, 0)],
)
def test_a_rate_is_whole_nano_dollars_per_million_tokens(dollars: Any, nanousd: int) -> None:
    assert price(input=dollars).tiers[0][1].input == nanousd


def test_a_rate_above_the_limit_is_rejected() -> None:
    with pytest.raises(RatesError, match="from 0 to 1000000 dollars per million tokens"):
        price(output="1000000.01")


def test_a_rate_that_is_not_given_is_that_of_the_kind_it_belongs_to() -> None:
    ((_, rates),) = price(cached="0.5", output_audio="20").tiers
    assert (rates.input, rates.cache_write, rates.input_audio) == (10**9, 10**9, 10**9)
    assert (rates.cached, rates.cached_audio) == (5 * 10**8, 5 * 10**8)
    assert (rates.output, rates.reasoning, rates.output_audio) == (10**10, 10**10, 2 * 10**10)


def test_searches_are_priced_by_the_thousand() -> None:
    ((_, rates),) = price(web_search="10").tiers
    assert rates.web_search == 10_000 * 10**9
    assert shown_rate("web_search", rates.web_search) == "10"
    assert shown_rate("input", rates.input) == "1"
    assert shown_rate("output_image", rates.output_image) is None
    assert rate_name("web_search") == "web_search_usd_per_thousand"
    assert rate_name("cached") == "cached_usd_per_million"


def test_tiers_of_several_kinds_are_merged() -> None:
    tiered = price(input=[[0, "1"], [10, "2"]], output=[[0, "3"], [5, "4"], [10, "5"]])
    found = [(start, rates.input, rates.output) for start, rates in tiered.tiers]
    nano = 10**9
    assert found == [(-1, nano, 3 * nano), (5, nano, 4 * nano), (10, 2 * nano, 5 * nano)]
