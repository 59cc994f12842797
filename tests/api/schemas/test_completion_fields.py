"""The fields that only a completion request has."""

from typing import Any

import pytest
from marshmallow import ValidationError
from marshmallow.fields import Field

from app.api.schemas.completion_fields import (
    STOPS_LIMIT,
    TOKENS_AT_ONCE,
    LogitBiasField,
    ModelField,
    PromptField,
    StopField,
    StreamOptionsField,
)


def messages_of(field: Field[Any], value: Any) -> Any:
    """Return what is wrong with a value."""
    with pytest.raises(ValidationError) as caught:
        field.deserialize(value)
    return caught.value.messages


def test_a_model_keeps_the_slashes_of_its_name() -> None:
    assert ModelField().deserialize("together/meta/llama") == "together/meta/llama"


@pytest.mark.parametrize("model", ["m", "/m", "v/", "v//m", " v/m", "v/" + "m" * 10_000])
def test_a_model_that_is_not_vendor_and_name_is_rejected(model: str) -> None:
    messages_of(ModelField(), model)


def test_an_invalid_token_is_named_even_far_behind() -> None:
    tokens: list[Any] = [1] * (TOKENS_AT_ONCE + 5)
    assert PromptField().deserialize(tokens) == tuple(tokens)
    tokens[-1] = -1
    assert messages_of(PromptField(), tokens) == {len(tokens) - 1: ["must be a token id >= 0"]}


@pytest.mark.parametrize("prompt", [[], [[]], ["a", 1], [1, "a"], [[1], "a"], {}, [1, True]])
def test_a_prompt_is_neither_empty_nor_mixed(prompt: Any) -> None:
    messages_of(PromptField(), prompt)


def test_stop_is_one_text_or_several_and_an_empty_array_means_null() -> None:
    assert StopField().deserialize("a") == "a"
    assert StopField().deserialize(["a", "b"]) == ("a", "b")
    assert StopField().deserialize([]) is None
    assert messages_of(StopField(), ["a", ""]) == {1: ["must not be empty"]}
    messages_of(StopField(), ["a"] * (STOPS_LIMIT + 1))


def test_a_bias_is_from_minus_100_to_100() -> None:
    assert LogitBiasField().deserialize({"1": -100, "2": 100}) == {"1": -100, "2": 100}
    assert messages_of(LogitBiasField(), {"1": 0, "2": 101}) == {"2": ["must be from -100 to 100"]}
    assert messages_of(LogitBiasField(), {"1": True}) == {"1": ["must be a number"]}
    messages_of(LogitBiasField(), [])


def test_flags_of_a_stream_are_booleans_and_other_options_are_kept() -> None:
    options = {"include_usage": True, "chunk": "x", "include_obfuscation": None}
    assert StreamOptionsField().deserialize(options) == {"include_usage": True, "chunk": "x"}
    assert messages_of(StreamOptionsField(), {"include_usage": 1}) == {
        "include_usage": ["must be true or false"]
    }
    messages_of(StreamOptionsField(), "x")
