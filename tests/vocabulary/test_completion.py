"""A request's and a usage's own rules: sums, prompts, names, and what the caller set."""

from typing import Any

import pytest

from app.vocabulary.completion import (
    PARAMETERS,
    USAGE_COUNTS,
    CompletionRequest,
    HalfUsage,
    Prompt,
    Usage,
)


def asked(prompt: Prompt = "hi", **fields: Any) -> CompletionRequest:
    return CompletionRequest(**{"model": "sim/m", "prompt": prompt, **fields})


def test_usages_are_summed_count_by_count() -> None:
    one = Usage(**{name: at for at, name in enumerate(USAGE_COUNTS, 1)})
    ten = Usage(**{name: 10 * at for at, name in enumerate(USAGE_COUNTS, 1)})
    assert one + ten == Usage(**{name: 11 * at for at, name in enumerate(USAGE_COUNTS, 1)})
    assert one + Usage() == one


@pytest.mark.parametrize("side", ["prompt_tokens", "completion_tokens", "total_tokens"])
def test_a_usage_without_tokens_counts_nothing(side: str) -> None:
    assert not Usage()
    assert Usage(**{side: 1})
    assert not HalfUsage(lacks="both")


@pytest.mark.parametrize(
    ("model", "vendor", "name"),
    [
        ("openai/gpt-5", "openai", "gpt-5"),
        ("together/meta/llama", "together", "meta/llama"),
        ("gpt-5", "gpt-5", ""),
    ],
)
def test_a_model_is_the_vendor_and_the_vendors_own_name(model: str, vendor: str, name: str) -> None:
    request = asked(model=model)
    assert (request.vendor, request.model_name) == (vendor, name)


@pytest.mark.parametrize(
    ("prompt", "prompts"),
    [
        ("hi", ["hi"]),
        ("", [""]),
        (["a", "b"], ["a", "b"]),
        ([1, 2], [[1, 2]]),
        ([[1, 2], [3]], [[1, 2], [3]]),
    ],
)
def test_a_list_is_of_prompts_unless_it_is_one_of_tokens(prompt: Prompt, prompts: Any) -> None:
    assert asked(prompt).prompts == prompts
    assert asked(prompt).choice_count == len(prompts)
    assert asked(prompt, n=3).choice_count == 3 * len(prompts)


@pytest.mark.parametrize(
    ("options", "included"),
    [
        (None, False),
        ({}, False),
        ({"include_usage": False}, False),
        ({"include_usage": True}, True),
    ],
)
def test_the_usage_chunk_comes_only_on_request(options: Any, included: bool) -> None:
    assert asked(stream_options=options).include_usage is included


def test_parameters_are_those_that_the_caller_set_also_to_nothing() -> None:
    assert asked(stream=True, extra={"top_k": 1}).parameters() == {}
    mine: dict[str, Any] = {"temperature": 0, "stop": [], "echo": False, "user": ""}
    assert asked(**mine).parameters() == mine
    every: dict[str, Any] = dict.fromkeys(PARAMETERS, 1)
    assert asked(**every).parameters() == every
