from typing import Any

import pytest

from app.gateways.conversation.omissions import Omissions
from app.gateways.conversation.reasoning import lacks_thinking, thinking_blocks
from app.gateways.conversation.turns import conversation
from app.vendors.vendor import Vendor
from app.vocabulary.errors import InvalidRequest
from tests.gateways.anthropic.chat import USER, call, calling, result
from tests.gateways.chat_rows import asked

VENDOR = Vendor(name="v", gateway="anthropic", base_url="http://x")
THOUGHT = {"type": "thinking", "thinking": "", "signature": "s"}
REDACTED = {"type": "redacted_thinking", "data": "d"}


def blocks(found: Any) -> Any:
    (message,) = asked("v/m", [{"role": "assistant", "thinking_blocks": found}]).messages
    return thinking_blocks(message)


def test_blocks_come_back_as_they_were_given_out() -> None:
    assert blocks([{**REDACTED, "index": 0}, {**THOUGHT, "index": 1}]) == [REDACTED, THOUGHT]
    assert list(blocks([{"signature": "s", "thinking": "", "type": "thinking"}])[0]) == [
        "type",
        "thinking",
        "signature",
    ]
    assert blocks(None) == blocks([]) == []


@pytest.mark.parametrize(
    ("found", "path"),
    [
        ("x", ""),
        ({}, ""),
        ([THOUGHT, None], "[1]"),
        ([{"type": "thinking", "thinking": "T"}], "[0]"),
        ([{"type": "thinking", "thinking": "T", "signature": None}], "[0]"),
        ([{"type": "redacted_thinking"}], "[0]"),
        ([{"type": "text", "text": "a"}], "[0]"),
        ([{"type": ["thinking"]}], "[0]"),
    ],
)
def test_malformed_blocks_are_named_by_their_path(found: Any, path: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        blocks(found)
    assert caught.value.param == f"messages[0].thinking_blocks{path}"


@pytest.mark.parametrize(
    ("messages", "lacks"),
    [
        ([USER], False),
        ([USER, calling(call("a")), result("a")], True),
        ([USER, calling(call("a"), thinking_blocks=[THOUGHT]), result("a")], False),
        ([USER, calling(call("a")), result("a"), USER], True),
        ([USER, calling(call("a")), result("a"), {"role": "assistant", "content": "A"}, USER],
         False),
        ([USER, calling(call("a"), thinking_blocks=[THOUGHT]), result("a"),
          calling(call("b")), result("b")], True),
    ],
)  # fmt: skip
def test_a_loop_lacks_the_reasoning_of_its_last_calls(messages: list[Any], lacks: bool) -> None:
    talk = conversation(VENDOR, asked("v/m", messages).messages, Omissions(VENDOR))
    assert lacks_thinking(talk) is lacks
