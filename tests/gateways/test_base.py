"""What gateways have in common."""

from typing import Any

import pytest

from app.gateways.base import single_prompt
from app.vocabulary.completion import CompletionRequest


def test_the_only_prompt_is_a_text() -> None:
    assert single_prompt(CompletionRequest(model="sim/m", prompt="hi")) == "hi"


@pytest.mark.parametrize("prompt", [["hi"], ["a", "b"], [1, 2], [[1], [2]]])
def test_several_prompts_or_tokens_are_a_fault_of_the_program(prompt: Any) -> None:
    with pytest.raises(TypeError):
        single_prompt(CompletionRequest(model="sim/m", prompt=prompt))
