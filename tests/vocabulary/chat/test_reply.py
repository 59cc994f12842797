"""Replies: deltas become a whole, and everything generated is counted."""

from typing import Any

from app.vocabulary.chat.reply import Reply, chained, merged
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


def test_merging_leaves_the_lists_of_deltas_as_they_are() -> None:
    deltas = [{"found": [at], "last": at} for at in range(3)]
    assert chained(deltas) == {"found": [0, 1, 2], "last": 2}
    assert [it["found"] for it in deltas] == [[0], [1], [2]]
    assert chained([{"a": [1]}, {"a": 2}, {"a": [3]}, {"a": [4]}, {"a": [5]}]) == {"a": [3, 4, 5]}
    assert chained([]) is None


class Costly(list[Any]):
    """A list that counts the items that are copied from it."""

    copied = 0

    def __add__(self, other: list[Any]) -> "Costly":
        Costly.copied += len(self) + len(other)
        return Costly([*self, *other])


def test_each_item_of_a_list_is_copied_once() -> None:
    found = chained({"found": Costly([at])} for at in range(1_000))
    assert found == {"found": list(range(1_000))}
    assert Costly.copied == 2
