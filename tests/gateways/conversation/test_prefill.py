from typing import Any

import pytest

from app.gateways.conversation.omissions import Omissions
from app.gateways.conversation.prefill import check_first, check_prefill
from app.gateways.conversation.turns import conversation
from app.vendors.vendor import Vendor
from app.vocabulary.errors import InvalidRequest
from tests.gateways.chat_rows import asked

VENDOR = Vendor(
    name="v",
    gateway="anthropic",
    base_url="http://x",
    quirks={"models": {"new*": {"traits": ["no_prefill"]}}},
)
USER = {"role": "user", "content": "hi"}


def check(model: str, *messages: dict[str, Any]) -> None:
    talk = conversation(VENDOR, asked("v/m", messages).messages, Omissions(VENDOR))
    check_prefill(VENDOR, model, talk)


@pytest.mark.parametrize(
    ("model", "content", "path"),
    [("new-1", "a", "messages[1]"), ("old", "a ", "messages[1].content"),
     ("old", "a\n", "messages[1].content")],
)  # fmt: skip
def test_a_last_message_that_cannot_be_continued_is_named(
    model: str, content: str, path: str
) -> None:
    with pytest.raises(InvalidRequest) as caught:
        check(model, USER, {"role": "assistant", "content": content})
    assert caught.value.param == path


def test_other_conversations_are_left_alone() -> None:
    check("old", USER, {"role": "assistant", "content": "a"})
    check("new-1", USER, {"role": "assistant", "content": "a "}, USER)


SAID = {"role": "assistant", "content": "Hello!"}
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CALLED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "done"}


@pytest.mark.parametrize(
    ("messages", "is_call", "path"),
    [
        ([SAID, USER], False, "messages[0]"),
        ([{"role": "system", "content": "A"}, SAID, USER], False, "messages[1]"),
        ([SAID, USER], True, None),
        ([CALLED, RESULT], True, "messages[0]"),
        ([USER, SAID, CALLED, RESULT], False, None),
    ],
)
def test_a_conversation_that_begins_with_the_assistant_is_refused_where_the_vendor_does(
    messages: list[Any], is_call: bool, path: str | None
) -> None:
    talk = conversation(VENDOR, asked("v/m", messages).messages, Omissions(VENDOR))
    if path is None:
        check_first(VENDOR, talk, is_call=is_call)
        return
    with pytest.raises(InvalidRequest) as caught:
        check_first(VENDOR, talk, is_call=is_call)
    assert caught.value.param == path
