"""A message: its texts, and the reasoning that it brings back."""

from typing import Any

import pytest

from app.vocabulary.chat.message import Message
from app.vocabulary.chat.parts import ImagePart, RefusalPart, TextPart
from app.vocabulary.chat.tools import ToolCall


def message(source: dict[str, Any] | None = None, **fields: Any) -> Message:
    return Message(role="assistant", path="messages[0]", source=source or {}, **fields)


@pytest.mark.parametrize(
    ("source", "reasoning"),
    [
        ({}, None),
        ({"reasoning_content": "a"}, "a"),
        ({"reasoning": "b"}, "b"),
        ({"reasoning_content": "a", "reasoning": "b"}, "a"),
        ({"reasoning_content": None, "reasoning": "b"}, "b"),
        ({"reasoning_content": ""}, ""),
        ({"reasoning": {"effort": "low"}}, None),
    ],
)
def test_reasoning_is_a_text_under_either_name(
    source: dict[str, Any], reasoning: str | None
) -> None:
    assert message(source).reasoning == reasoning


def test_a_text_is_that_of_its_text_parts() -> None:
    parts = (
        TextPart(text="a", source={}, path=""),
        ImagePart(url="data:", source={}, path=""),
        RefusalPart(text="b", source={}, path=""),
    )
    assert message(parts=parts).text == "ab"
    assert message().text == ""


def test_a_model_reads_texts_calls_and_reasoning() -> None:
    call = ToolCall(0, "c", "f", "{}")
    part = TextPart(text="a", source={}, path="")
    told = message({"reasoning": "r"}, parts=(part,), tool_calls=(call,))
    assert list(told.texts) == ["a", "f", "{}", "r"]
    assert list(message(tool_calls=(ToolCall(0),)).texts) == ["", ""]
