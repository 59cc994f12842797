"""Replies: deltas become a whole, and everything generated is counted."""

from app.vocabulary.chat.reply import Reply, merged
from app.vocabulary.chat.tools import ToolCall


def test_deltas_become_a_whole() -> None:
    deltas = [
        Reply("a", "", (ToolCall(1, "c2", "g", "{"),), {"annotations": [1], "cost": 1}),
        Reply("b", "no", (ToolCall(0, "c1", "f", "{}"),), {"annotations": [2], "cost": 2}),
        Reply("", "", (ToolCall(1, None, None, "}", extra={"x": 1}),)),
    ]
    assert merged(deltas) == Reply(
        "ab",
        "no",
        (ToolCall(0, "c1", "f", "{}"), ToolCall(1, "c2", "g", "{}", extra={"x": 1})),
        {"annotations": [1, 2], "cost": 2},
    )


def test_one_delta_is_the_whole_and_none_is_nothing() -> None:
    alone = Reply("a", tool_calls=(ToolCall(5),))
    assert merged([alone]) is alone
    assert merged([]) is None


def test_a_list_replaces_what_is_no_list() -> None:
    assert merged([Reply(extra={"x": 1}), Reply(extra={"x": [2]})]) == Reply(extra={"x": [2]})


def test_reasoning_refusals_and_calls_are_generated() -> None:
    assert Reply("a", "b", (ToolCall(0, "c", "f", "{}"), ToolCall(1))).generated == "abf{}"
    assert Reply(extra={"annotations": [1]}).generated == ""
