"""Google's token counts."""

from typing import Any

import pytest

from app.gateways.gemini.usage import decode_tier, decode_usage
from app.vocabulary.completion import HalfUsage, Usage


def usage(*counts: int | None, **more: Any) -> dict[str, Any]:
    names = ("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "totalTokenCount")
    told = {n: c for n, c in zip(names, counts, strict=True) if c is not None}
    return {**told, **more}


@pytest.mark.parametrize(
    ("told", "counted"),
    [
        # prompt, candidates, thoughts, total -> prompt, completion, total, reasoning
        (usage(10, 5, None, 15), (10, 5, 15, 0)),
        (usage(10, 5, 3, 18), (10, 8, 18, 3)),  # thoughts beside the candidates' tokens
        (usage(10, 5, 3, 15), (10, 5, 15, 3)),  # thoughts among them
        (usage(10, None, 3, 13), (10, 3, 13, 3)),  # nothing but thoughts
        (usage(10, None, None, 10), (10, 0, 10, 0)),  # the first chunks of a stream
        (usage(10, 5, 3, None), (10, 8, 18, 3)),
        (usage(10, 5, 3, 4), (10, 8, 18, 3)),  # a total of something else
        (usage(10, 5, 3, 20), (10, 10, 20, 3)),  # the total is what is charged for
        (usage(10, 5, None, 17, toolUsePromptTokenCount=2), (12, 5, 17, 0)),
        (usage(10.0, 5.0, None, 15.0), (10, 5, 15, 0)),  # type: ignore[arg-type]
    ],
)
def test_usage_is_counted_in_our_meaning(
    told: dict[str, Any], counted: tuple[int, int, int, int]
) -> None:
    found = decode_usage(told)
    assert found is not None
    assert counted == (
        found.prompt_tokens,
        found.completion_tokens,
        found.total_tokens,
        found.reasoning_tokens,
    )


def test_cached_tokens_are_among_the_prompts() -> None:
    found = decode_usage(usage(100, 5, None, 105, cachedContentTokenCount=80))
    assert found == Usage(
        prompt_tokens=100, completion_tokens=5, total_tokens=105, cached_tokens=80
    )


def modality(name: str, count: int) -> dict[str, Any]:
    return {"modality": name, "tokenCount": count}


def test_images_and_sounds_are_counted_apart_on_both_sides() -> None:
    found = decode_usage(
        usage(
            300,
            1120,
            200,
            1620,
            promptTokensDetails=[modality("TEXT", 10), modality("IMAGE", 258)],
            candidatesTokensDetails=[modality("IMAGE", 1120), modality("AUDIO", 0)],
            cacheTokensDetails=[modality("IMAGE", 258)],
        )
    )
    assert found == Usage(
        prompt_tokens=300,
        completion_tokens=1320,
        total_tokens=1620,
        reasoning_tokens=200,
        image_prompt_tokens=258,
        image_completion_tokens=1120,
    )


def test_what_googles_tools_fed_to_the_model_is_prompt() -> None:
    found = decode_usage(
        usage(
            40,
            30,
            20,
            290,
            toolUsePromptTokenCount=200,
            cachedContentTokenCount=25,
            promptTokensDetails=[modality("AUDIO", 32)],
            toolUsePromptTokensDetails=[modality("TEXT", 190), modality("IMAGE", 10)],
        )
    )
    assert found == Usage(
        prompt_tokens=240,
        completion_tokens=50,
        total_tokens=290,
        cached_tokens=25,
        reasoning_tokens=20,
        audio_prompt_tokens=32,
        image_prompt_tokens=10,
    )


@pytest.mark.parametrize("details", [None, "x", [5], [{"modality": 5}], [{"modality": "IMAGE"}]])
def test_details_that_are_none_leave_the_counts(details: Any) -> None:
    found = decode_usage(usage(10, 5, None, 15, promptTokensDetails=details))
    assert found == Usage(prompt_tokens=10, completion_tokens=5, total_tokens=15)


@pytest.mark.parametrize(
    "told",
    [None, [], "5", {}, {"trafficType": "ON_DEMAND"}, usage(0, 0, 0, 0)],
)
def test_usage_without_a_count_is_left_to_be_estimated(told: Any) -> None:
    assert decode_usage(told) is None


@pytest.mark.parametrize("count", ["x", True, [5], {"a": 5}, 2**60, 10**400, -1])
def test_a_count_that_is_no_number_of_tokens_leaves_the_others(count: Any) -> None:
    half = HalfUsage(completion_tokens=5, total_tokens=5, lacks="prompt")
    assert decode_usage({"promptTokenCount": count, "candidatesTokenCount": 5}) == half


@pytest.mark.parametrize(
    ("traffic", "tier"),
    [
        ("ON_DEMAND", "default"),
        ("ON_DEMAND_FLEX", "flex"),
        ("ON_DEMAND_PRIORITY", "priority"),
        ("PROVISIONED_THROUGHPUT", "scale"),
        ("NEW", None),
        (5, None),
    ],
)
def test_the_tier_that_served_a_request_is_told_in_the_contracts_words(
    traffic: Any, tier: str | None
) -> None:
    assert decode_tier({"trafficType": traffic}) == tier
