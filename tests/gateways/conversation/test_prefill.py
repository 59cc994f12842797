from typing import Any

import pytest

from app.gateways.conversation.omissions import Omissions
from app.gateways.conversation.prefill import check_prefill
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
