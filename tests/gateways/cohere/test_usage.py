"""Cohere's two counts: what it bills is the usage."""

from typing import Any

import pytest

from app.gateways.cohere.usage import decode_usage
from app.vocabulary.completion import Usage


def pair(prompt: float, generated: float) -> dict[str, float]:
    return {"input_tokens": prompt, "output_tokens": generated}


@pytest.mark.parametrize(
    ("usage", "prompt", "generated", "cached"),
    [
        ({"billed_units": pair(3.0, 2.0), "tokens": pair(486.0, 2.0)}, 3, 2, 0),
        ({"billed_units": pair(3.0, 2.0), "cached_tokens": 2.0}, 3, 2, 2),
        ({"billed_units": pair(3.0, 2.0), "cached_tokens": 480.0}, 3, 2, 3),
        ({"billed_units": {"search_units": 1}, "tokens": pair(486, 2)}, 486, 2, 0),
        ({"billed_units": pair(0, 0), "tokens": pair(486, 2)}, 486, 2, 0),
        ({"billed_units": {"output_tokens": 2}, "tokens": pair(486, 9)}, 486, 2, 0),
        ({"billed_units": {"input_tokens": 3}, "tokens": pair(486, 9)}, 3, 9, 0),
    ],
)
def test_what_the_vendor_bills_is_its_count(
    usage: Any, prompt: int, generated: int, cached: int
) -> None:
    assert decode_usage(usage) == Usage(
        prompt_tokens=prompt,
        completion_tokens=generated,
        total_tokens=prompt + generated,
        cached_tokens=cached,
    )


@pytest.mark.parametrize("usage", [None, {}, [], {"tokens": pair(0, 0)}, {"tokens": {"x": "y"}}])
def test_no_count_is_none(usage: Any) -> None:
    assert decode_usage(usage) is None
