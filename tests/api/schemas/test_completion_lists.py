"""Fields that are not one value: prompts, stop sequences, biases and stream options."""

import math
from typing import Any

import pytest

from app.api.schemas.completion import (
    load_completion_request,
)
from app.api.schemas.completion_fields import PROMPTS_LIMIT
from tests.api.schemas.loading import LEAST, Wrong, problem

PROMPTS: list[tuple[Any, Any]] = [
    ("", ""),
    ("hi", "hi"),
    ([""], ("",)),
    (["a", "b"], ("a", "b")),
    (["a"] * PROMPTS_LIMIT, ("a",) * PROMPTS_LIMIT),
    ([15496, 995], (15496, 995)),
    ([0], (0,)),
    ([1] * (PROMPTS_LIMIT + 1), (1,) * (PROMPTS_LIMIT + 1)),
    ([[15496, 995], [1]], ((15496, 995), (1,))),
]


@pytest.mark.parametrize(("prompt", "loaded"), PROMPTS, ids=lambda value: str(value)[:20])
def test_a_prompt_is_text_texts_token_ids_or_lists_of_them(prompt: Any, loaded: Any) -> None:
    request = load_completion_request({**LEAST, "prompt": prompt})
    assert request.prompt == loaded
    assert type(request.prompt) is type(loaded)


BAD_PROMPTS: list[tuple[Any, Wrong]] = [
    ([], ("prompt", "invalid_value")),
    ([[]], ("prompt[0]", "invalid_value")),
    ([[1], []], ("prompt[1]", "invalid_value")),
    (["ok", 7], ("prompt[1]", "invalid_type")),
    (["ok", None], ("prompt[1]", "invalid_type")),
    (["ok", ["a"]], ("prompt[1]", "invalid_type")),
    (["ok", True], ("prompt[1]", "invalid_type")),
    ([None], ("prompt[0]", "invalid_type")),
    ([True], ("prompt[0]", "invalid_type")),
    ([1.0], ("prompt[0]", "invalid_type")),
    ([{}], ("prompt[0]", "invalid_type")),
    ([1, "secret"], ("prompt[1]", "invalid_type")),
    ([1, 2.5], ("prompt[1]", "invalid_type")),
    ([1, False], ("prompt[1]", "invalid_type")),
    ([1, [2]], ("prompt[1]", "invalid_type")),
    ([1, -1], ("prompt[1]", "invalid_value")),
    ([["a"]], ("prompt[0][0]", "invalid_type")),
    ([[1], [2, None]], ("prompt[1][1]", "invalid_type")),
    ([[1], "secret"], ("prompt[1]", "invalid_type")),
    ([[1], [[2]]], ("prompt[1][0]", "invalid_type")),
    ({"a": 1}, ("prompt", "invalid_type")),
    (True, ("prompt", "invalid_type")),
    (7, ("prompt", "invalid_type")),
    (["a"] * (PROMPTS_LIMIT + 1), ("prompt", "invalid_value")),
    ([[1]] * (PROMPTS_LIMIT + 1), ("prompt", "invalid_value")),
]


@pytest.mark.parametrize(("prompt", "wrong"), BAD_PROMPTS, ids=lambda value: str(value)[:20])
def test_a_prompt_that_is_none_is_refused_at_the_place_that_is_wrong(
    prompt: Any, wrong: Wrong
) -> None:
    assert problem(prompt=prompt) == wrong


STOPS: list[tuple[Any, Any]] = [
    ("\n", "\n"),
    (["a"], ("a",)),
    (["a", "b", "c", "d", "e"], ("a", "b", "c", "d", "e")),
    (["a"] * 128, ("a",) * 128),
    ([], None),
]


BAD_STOPS: list[tuple[Any, Wrong]] = [
    ("", ("stop", "invalid_value")),
    (["a"] * 129, ("stop", "invalid_value")),
    (["a", ""], ("stop[1]", "invalid_value")),
    (["a", "b", 3], ("stop[2]", "invalid_type")),
    ([None], ("stop[0]", "invalid_type")),
    ([["a"]], ("stop[0]", "invalid_type")),
]


@pytest.mark.parametrize(("stop", "loaded"), STOPS)
def test_stop_is_one_sequence_or_several_and_an_empty_list_is_none(stop: Any, loaded: Any) -> None:
    assert load_completion_request({**LEAST, "stop": stop}).stop == loaded


@pytest.mark.parametrize(("stop", "wrong"), BAD_STOPS)
def test_a_stop_that_is_none_is_refused(stop: Any, wrong: Wrong) -> None:
    assert problem(stop=stop) == wrong


@pytest.mark.parametrize("bias", [{}, {"50256": -100}, {"1": 100, "2": 0, "3": -0.5}])
def test_logit_bias_is_numbers_by_token(bias: dict[str, float]) -> None:
    assert load_completion_request({**LEAST, "logit_bias": bias}).logit_bias == bias


@pytest.mark.parametrize(
    ("bias", "wrong"),
    [
        ({"1": 1, "50256": 101}, ("logit_bias.50256", "invalid_value")),
        ({"50256": -100.5}, ("logit_bias.50256", "invalid_value")),
        ({"50256": math.inf}, ("logit_bias.50256", "invalid_value")),
        ({"50256": "-100"}, ("logit_bias.50256", "invalid_type")),
        ({"50256": True}, ("logit_bias.50256", "invalid_type")),
        ({"50256": None}, ("logit_bias.50256", "invalid_type")),
        ({"50256": {}}, ("logit_bias.50256", "invalid_type")),
        ({"x" * 5000: {}}, ("logit_bias." + "x" * 64, "invalid_type")),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_bias_that_is_none_is_refused_by_its_token(bias: Any, wrong: Wrong) -> None:
    assert problem(logit_bias=bias) == wrong


def test_stream_options_are_a_free_map_of_which_three_must_be_booleans() -> None:
    options = {"include_usage": True, "continuous_usage_stats": True, "mine": {"a": [1]}}
    request = load_completion_request({**LEAST, "stream": True, "stream_options": options})
    assert request.stream_options == options
    assert request.include_usage
    values: tuple[Any, ...] = ("true", 1, [], {})
    for name in ("include_usage", "include_obfuscation", "continuous_usage_stats"):
        for value in values:
            wrong = problem(stream=True, stream_options={name: value})
            assert wrong == (f"stream_options.{name}", "invalid_type")
        nulled = load_completion_request({**LEAST, "stream": True, "stream_options": {name: None}})
        assert nulled.stream_options == {}
        assert not nulled.include_usage


@pytest.mark.parametrize("stream", [False, None])
@pytest.mark.parametrize("options", [{}, {"include_usage": True}, {"continuous_usage_stats": True}])
def test_stream_options_need_a_stream(stream: Any, options: Any) -> None:
    assert problem(stream=stream, stream_options=options) == ("stream_options", "invalid_value")
