"""Usage in OpenAI's format, in all its forms and places."""

from typing import Any

import pytest

from app.gateways.openai.usage import decode_usage, usage_in
from app.vocabulary.completion import HalfUsage, Usage
from tests.support.vendor import usage_of

HALF = HalfUsage(completion_tokens=2, total_tokens=2, lacks="prompt")


USAGES: dict[str, tuple[Any, Usage | None]] = {
    "absent": (None, None),
    "zeros": (usage_of(0, 0), None),
    "nulls": ({"prompt_tokens": None, "completion_tokens": None, "total_tokens": None}, None),
    "empty": ({}, None),
    "a list": ([1, 2], None),
    "a string": ("12", None),
    "plain": (usage_of(3, 2), Usage(prompt_tokens=3, completion_tokens=2, total_tokens=5)),
    "floats": (
        {"prompt_tokens": 3.0, "completion_tokens": 2.0, "total_tokens": 5.0},
        Usage(prompt_tokens=3, completion_tokens=2, total_tokens=5),
    ),
    "no total": (
        {"prompt_tokens": 3, "completion_tokens": 2},
        Usage(prompt_tokens=3, completion_tokens=2, total_tokens=5),
    ),
    "a prompt alone, scored": (
        {"prompt_tokens": 3, "completion_tokens": 0, "total_tokens": 3},
        Usage(prompt_tokens=3, total_tokens=3),
    ),
    "a total of its own": (
        {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 45},
        Usage(prompt_tokens=3, completion_tokens=42, total_tokens=45),
    ),
    "parts are no addends": (
        usage_of(
            100,
            50,
            prompt_tokens_details={"cached_tokens": 80, "cache_write_tokens": 5, "audio_tokens": 1},
            completion_tokens_details={
                "reasoning_tokens": 40,
                "audio_tokens": 2,
                "accepted_prediction_tokens": 3,
                "rejected_prediction_tokens": 4,
            },
        ),
        Usage(
            prompt_tokens=100,
            completion_tokens=50,
            total_tokens=150,
            cached_tokens=80,
            cache_write_tokens=5,
            audio_prompt_tokens=1,
            reasoning_tokens=40,
            audio_completion_tokens=2,
            accepted_prediction_tokens=3,
            rejected_prediction_tokens=4,
        ),
    ),
    "cached tokens beside, Mistral's name": (
        {**usage_of(10, 224), "num_cached_tokens": 9},
        Usage(prompt_tokens=10, completion_tokens=224, total_tokens=234, cached_tokens=9),
    ),
    "sounds beside the prompt, as Mistral counts them": (
        {
            **{"prompt_tokens": 9, "completion_tokens": 248, "total_tokens": 632},
            "prompt_tokens_details": {"audio_tokens": 375, "cached_tokens": 0},
            "prompt_audio_seconds": 3,
        },
        Usage(prompt_tokens=384, completion_tokens=248, total_tokens=632, audio_prompt_tokens=375),
    ),
    "sounds in seconds and in the total alone": (
        {
            **{"prompt_tokens": 4, "completion_tokens": 1073, "total_tokens": 5202},
            "prompt_audio_seconds": 316,
        },
        Usage(
            prompt_tokens=4129,
            completion_tokens=1073,
            total_tokens=5202,
            audio_prompt_tokens=4125,
        ),
    ),
    "sounds in seconds, of which there are none": (
        {**usage_of(3, 2), "prompt_audio_seconds": 0},
        Usage(prompt_tokens=3, completion_tokens=2, total_tokens=5),
    ),
    "cached tokens in the second place, 0 in the first": (
        usage_of(
            10,
            2,
            prompt_tokens_details={"cached_tokens": 0, "cache_write_tokens": 0},
            cache_read_input_tokens=7,
            cache_creation_input_tokens=2,
        ),
        Usage(
            prompt_tokens=10,
            completion_tokens=2,
            total_tokens=12,
            cached_tokens=7,
            cache_write_tokens=2,
        ),
    ),
    "searches that an aggregator's vendor ran": (
        usage_of(10, 2, server_tool_use_details={"web_search_requests": 1}),
        Usage(prompt_tokens=10, completion_tokens=2, total_tokens=12, web_search_calls=1),
    ),
    "images, and images that the model drew": (
        usage_of(
            100,
            50,
            prompt_tokens_details={"image_tokens": 70, "text_tokens": 30},
            completion_tokens_details={"image_tokens": 20},
        ),
        Usage(
            prompt_tokens=100,
            completion_tokens=50,
            total_tokens=150,
            image_prompt_tokens=70,
            image_completion_tokens=20,
        ),
    ),
    "images, flat": (
        {**usage_of(9, 2), "prompt_text_tokens": 5, "prompt_image_tokens": 4},
        Usage(prompt_tokens=9, completion_tokens=2, total_tokens=11, image_prompt_tokens=4),
    ),
    "details null": (
        usage_of(3, 2, prompt_tokens_details=None, completion_tokens_details=None),
        Usage(prompt_tokens=3, completion_tokens=2, total_tokens=5),
    ),
    "details nonsense": (
        usage_of(
            3,
            2,
            prompt_tokens_details={"cached_tokens": -1, "audio_tokens": "x"},
            completion_tokens_details=[1],
        ),
        Usage(prompt_tokens=3, completion_tokens=2, total_tokens=5),
    ),
    # Half a count is a fact, and its other half is to be estimated, and marked.
    "negative": ({"prompt_tokens": -3, "completion_tokens": 2}, HALF),
    "words": ({"prompt_tokens": "x", "completion_tokens": 2}, HALF),
    "a boolean": ({"prompt_tokens": True, "completion_tokens": 2}, HALF),
    "beyond reason": (usage_of(2**40, 2), HALF),
    "beyond 64 bits": (usage_of(10**30, 2), HALF),
    "infinite": ({"prompt_tokens": float("inf"), "completion_tokens": 2}, HALF),
    "not a number": ({"prompt_tokens": float("nan"), "completion_tokens": 2}, HALF),
    "a nested count": ({"prompt_tokens": {"text": 3}, "completion_tokens": 2}, HALF),
    "a completion alone": ({"completion_tokens": 2}, HALF),
    "a prompt alone": (
        {"prompt_tokens": 5},
        HalfUsage(prompt_tokens=5, total_tokens=5, lacks="completion"),
    ),
    "a total alone": ({"total_tokens": 9}, HalfUsage(total_tokens=9, lacks="both")),
    "a prompt and a total": (
        {"prompt_tokens": 20, "total_tokens": 60},
        Usage(prompt_tokens=20, completion_tokens=40, total_tokens=60),
    ),
    "a completion and a total": (
        {"completion_tokens": 40, "total_tokens": 60},
        Usage(prompt_tokens=20, completion_tokens=40, total_tokens=60),
    ),
    "a total above the sum": (
        {"prompt_tokens": 20, "completion_tokens": 424, "total_tokens": 1016},
        Usage(prompt_tokens=20, completion_tokens=996, total_tokens=1016),
    ),
    "a total below the sum": (
        {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 12},
        Usage(prompt_tokens=10, completion_tokens=5, total_tokens=15),
    ),
    "a prompt of nothing": (
        {"prompt_tokens": 0, "completion_tokens": 5, "total_tokens": 25},
        Usage(prompt_tokens=20, completion_tokens=5, total_tokens=25),
    ),
    "cached tokens, flat": (
        {**usage_of(9, 2), "cached_tokens": 4},
        Usage(prompt_tokens=9, completion_tokens=2, total_tokens=11, cached_tokens=4),
    ),
    "cached tokens by another name": (
        {**usage_of(9, 2), "prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 5},
        Usage(prompt_tokens=9, completion_tokens=2, total_tokens=11, cached_tokens=4),
    ),
}


@pytest.mark.parametrize(("usage", "counted"), USAGES.values(), ids=USAGES)
def test_usage_is_put_together_of_what_the_vendor_counted(
    usage: Any, counted: Usage | None
) -> None:
    assert decode_usage("sim", usage) == counted


@pytest.mark.parametrize(
    ("body", "counted"),
    [
        ({"usage": usage_of(3, 2)}, Usage(prompt_tokens=3, completion_tokens=2, total_tokens=5)),
        (
            {"usage": None, "x_groq": {"usage": usage_of(3, 2)}},
            Usage(prompt_tokens=3, completion_tokens=2, total_tokens=5),
        ),
        (
            {"usage": usage_of(3, 2), "x_groq": {"usage": usage_of(30, 20)}},
            Usage(prompt_tokens=3, completion_tokens=2, total_tokens=5),
        ),
        (
            {"choices": [], **usage_of(3, 2)},
            Usage(prompt_tokens=3, completion_tokens=2, total_tokens=5),
        ),
        ({"x_groq": {"id": "req"}}, None),
        ({"x_groq": None}, None),
        ({"choices": []}, None),
    ],
)
def test_usage_is_found_in_its_places(body: dict[str, Any], counted: Usage | None) -> None:
    assert usage_in("sim", body) == counted
