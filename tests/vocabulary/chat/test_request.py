"""A chat request: everything that a model reads counts as one prompt."""

from typing import Any

from app.vocabulary.chat.message import Message
from app.vocabulary.chat.parts import ImagePart, TextPart
from app.vocabulary.chat.request import ChatRequest


def said(*parts: Any) -> Message:
    return Message(role="user", path="messages[0]", source={}, parts=parts)


def test_messages_definitions_and_media_are_one_input() -> None:
    image = ImagePart(url="data:", detail="low", source={}, path="")
    messages = (said(TextPart(text="a", source={}, path=""), image), said())
    request = ChatRequest(model="v/m", messages=messages, definitions="[tools]")
    (found,) = request.inputs
    assert found.texts == ("a", "[tools]")
    assert found.media_tokens == image.media_tokens
    assert request.prompt_count == 1


def test_parameters_are_a_copy_that_can_be_changed() -> None:
    request = ChatRequest(model="v/m", messages=(), options={"seed": 1})
    request.parameters().clear()
    assert request.parameters() == {"seed": 1}
