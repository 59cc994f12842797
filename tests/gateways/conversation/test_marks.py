from typing import Any

import pytest

from app.gateways.conversation.marks import leave_out_marks, mark_of, marked_parts, result_parts
from app.gateways.conversation.omissions import Omissions
from app.vendors.vendor import Vendor
from tests.gateways.chat_rows import asked

ROW = Vendor(name="v", gateway="g", base_url="https://v.example")

HOUR = {"type": "ephemeral", "ttl": "1h"}


def test_each_part_has_its_own_mark_and_blank_ones_none() -> None:
    parts = [
        {"type": "text", "text": "a", "cache_control": HOUR},
        {"type": "text", "text": " ", "cache_control": HOUR},
        {"type": "text", "text": "b", "cache_control": None},
    ]
    (message,) = asked("v/m", [{"role": "user", "content": parts}]).messages
    assert [mark for _, mark in marked_parts(message)] == [HOUR, None]


def test_a_mark_of_a_message_is_its_last_parts() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    texts, parted = asked(
        "v/m",
        [{"role": "user", "content": "a", "cache_control": HOUR},
         {"role": "user", "content": parts, "cache_control": HOUR}],
    ).messages  # fmt: skip
    assert [mark for _, mark in marked_parts(texts)] == [HOUR]
    assert [mark for _, mark in marked_parts(parted)] == [None, HOUR]


def test_a_mark_of_a_tools_message_is_the_results() -> None:
    (message,) = asked(
        "v/m", [{"role": "tool", "tool_call_id": "a", "content": "x", "cache_control": HOUR}]
    ).messages
    assert [mark for _, mark in result_parts(message)] == [None]
    assert mark_of(message.source) == HOUR


@pytest.mark.parametrize(
    "fields",
    [
        {"messages": [{"role": "user", "content": "a", "cache_control": HOUR}]},
        {
            "messages": [
                {
                    "role": "user",
                    "content": [{"type": "text", "text": "a", "cache_control": HOUR}],
                }
            ]
        },
        {
            "messages": "a",
            "tools": [{"type": "function", "function": {"name": "f"}, "cache_control": HOUR}],
        },
    ],
)
def test_marks_that_a_format_does_not_have_are_left_out_and_told(fields: Any) -> None:
    omissions = Omissions(ROW)
    leave_out_marks(asked("v/m", prompt_cache_key="k", **fields), omissions)
    assert omissions.names == ("prompt_cache_key", "cache_control")


def test_without_marks_nothing_is_left_out() -> None:
    omissions = Omissions(ROW)
    leave_out_marks(asked("v/m", "a"), omissions)
    assert omissions.names == ()


def test_openais_own_mark_is_one_of_an_hour() -> None:
    part = {"type": "text", "text": "a", "prompt_cache_breakpoint": {"mode": "explicit"}}
    (message,) = asked("v/m", [{"role": "user", "content": [part]}]).messages
    assert [mark for _, mark in marked_parts(message)] == [HOUR]
