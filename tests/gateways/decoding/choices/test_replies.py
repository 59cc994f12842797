"""What choices hold beside text, and the finish reason that is true of them."""

from typing import Any

import pytest

from app.gateways.decoding.choices.deltas import Choices
from app.vocabulary.chat.reply import Reply
from app.vocabulary.chat.tools import ToolCall
from app.vocabulary.completion import Choice, Ending

CALL = ToolCall(0, "c1", "f", "{}")


def delta(**reply: Any) -> Choice:
    return Choice(0, "", reply=Reply(**reply))


def ended(*deltas: Choice, reason: Ending) -> Ending | None:
    """Return the finish reason of a streamed choice that ends with the vendor's `reason`."""
    choices = Choices(1, 1)
    choices.take(deltas)
    choices.take((Choice(0, "", reason),))
    return choices.tail()[0].finish_reason


@pytest.mark.parametrize(
    ("said", "true"),
    [
        ("stop", "tool_calls"),
        ("tool_calls", "tool_calls"),
        ("function_call", "tool_calls"),
        ("length", "length"),
        ("content_filter", "content_filter"),
        ("error", "error"),
    ],
)
def test_a_choice_with_calls_ends_with_them_unless_it_was_cut(said: Any, true: str) -> None:
    assert ended(delta(tool_calls=(CALL,)), reason=said) == true
    if said != "error":  # the assembly removes it
        (whole,) = Choices(1, 1).take_whole((Choice(0, "", said, reply=Reply("", "", (CALL,))),))
        assert whole.finish_reason == true


@pytest.mark.parametrize("said", ["stop", "tool_calls", "function_call"])
def test_without_a_call_there_is_none_to_end_with(said: Any) -> None:
    assert ended(Choice(0, "hi"), reason=said) == "stop"
    assert Choices(1, 1).take_whole((Choice(0, "hi", said),))[0].finish_reason == "stop"


def test_a_call_of_the_old_kind_has_an_end_of_its_own() -> None:
    old = delta(extra={"function_call": {"name": "f", "arguments": "{}"}})
    assert ended(old, reason="stop") == "function_call"
    assert ended(old, reason="length") == "length"


def test_each_choice_has_its_own_calls() -> None:
    choices = Choices(1, 2)
    call = Reply(tool_calls=(ToolCall(3, "c1", "f", "{}"),))
    passed, _ = choices.take((Choice(0, "hi"), Choice(1, "", reply=call)))
    assert [it.reply.tool_calls[0].index for it in passed if it.reply] == [0]
    choices.take((Choice(0, "", "tool_calls"), Choice(1, "", "stop")))
    assert [it.finish_reason for it in choices.tail()] == ["stop", "tool_calls"]


def test_items_of_lists_are_numbered_so_that_clients_can_join_them() -> None:
    choices = Choices(1, 1)
    first = choices.take((delta(extra={"annotations": [{"a": 1}, {"b": 2}]}),))[0][0]
    second = choices.take((delta(extra={"annotations": [{"c": 3}], "cost": 1}),))[0][0]
    assert first.reply == Reply(extra={"annotations": [{"a": 1, "index": 0}, {"b": 2, "index": 1}]})
    assert second.reply == Reply(extra={"annotations": [{"c": 3, "index": 2}], "cost": 1})
    own = {"reasoning_details": [{"text": "x", "index": 0}]}
    assert choices.take((delta(extra=own),))[0][0].reply == Reply(extra=own)


def test_reasoning_alone_is_passed_on_and_is_no_text() -> None:
    choices = Choices(1, 1)
    ((passed,), _) = choices.take((delta(reasoning="hm"),))
    assert passed == delta(reasoning="hm")
    assert choices.has_text  # the caller has got something: a failure now is billable


def test_half_characters_never_come_out() -> None:
    choices = Choices(1, 1)
    ((passed,), _) = choices.take((delta(reasoning="a\ud800", refusal="\udc80"),))
    assert passed.reply is not None
    assert f"{passed.reply.reasoning}{passed.reply.refusal}".encode()


def test_what_was_held_back_comes_before_the_end() -> None:
    choices = Choices(1, 1)
    choices.take((delta(tool_calls=(ToolCall(0, "c1", "f"), ToolCall(1, "c2", "g", "{}"))),))
    choices.take((Choice(0, "", "stop"),))
    (closed,) = choices.close_calls()
    assert closed.reply is not None
    assert [(it.index, it.arguments) for it in closed.reply.tool_calls] == [(0, "{}"), (1, "{}")]
    assert closed.finish_reason is None


@pytest.mark.parametrize("name", ["reasoning", "refusal"])
def test_a_character_that_was_split_is_joined_and_half_a_one_replaced(name: str) -> None:
    choices, told = Choices(1, 1), list[Choice]()
    for text in ("a\ud83d", "\ude00b", "\ud83d"):
        told += choices.take((delta(**{name: text}),))[0]
    told += choices.close_calls()
    said = "".join(getattr(choice.reply, name) for choice in told if choice.reply)
    assert said == "a\U0001f600b\ufffd"
