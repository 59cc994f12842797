from typing import Any

import pytest

from app.gateways.conversation.omissions import Omissions
from app.gateways.conversation.turns import Conversation, conversation
from app.vendors.vendor import Vendor
from app.vocabulary.errors import InvalidRequest
from tests.gateways.chat_rows import asked

VENDOR = Vendor(name="v", gateway="anthropic", base_url="http://x")
USER = {"role": "user", "content": "hi"}


def calls(*ids: str, **more: Any) -> dict[str, Any]:
    """Return an assistant's message with calls of these ids."""
    made = [
        {"id": it, "type": "function", "function": {"name": f"get_{it}", "arguments": "{}"}}
        for it in ids
    ]
    return {"role": "assistant", "content": None, "tool_calls": made, **more}


def result(call_id: str, text: str = "done") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def turns_of(*messages: dict[str, Any], vendor: Vendor = VENDOR) -> Conversation:
    return conversation(vendor, asked("v/m", messages).messages, Omissions(vendor))


def shape(*messages: dict[str, Any]) -> list[tuple[str, list[str], list[str]]]:
    """Return each turn's side, the ids of its results, and its messages' texts."""
    return [
        (turn.side, [r.message.tool_call_id or "" for r in turn.results],
         [message.text for message in turn.messages])
        for turn in turns_of(*messages).turns
    ]  # fmt: skip


def test_instructions_stand_apart_in_their_order_wherever_they_come() -> None:
    found = turns_of(
        {"role": "system", "content": "A"},
        USER,
        {"role": "developer", "content": "B"},
        {"role": "user", "content": "go"},
    )
    assert [message.text for message in found.instructions] == ["A", "B"]
    assert [[message.text for message in turn.messages] for turn in found.turns] == [["hi", "go"]]


SYSTEM = {"role": "system", "content": "S"}
SAID = {"role": "assistant", "content": "A"}


@pytest.mark.parametrize(
    ("messages", "sides", "instructions"),
    [
        ([SYSTEM, USER, SYSTEM], ["user", "system"], 1),
        ([USER, SYSTEM, SYSTEM, SAID, USER], ["user", "system", "assistant", "user"], 0),
        ([USER, calls("a"), result("a"), SYSTEM], ["user", "assistant", "user", "system"], 0),
        # Where the vendor takes none, they join the others:
        ([USER, SYSTEM, USER], ["user"], 1),
        ([USER, SAID, SYSTEM, USER], ["user", "assistant", "user"], 1),
        ([USER, calls("a"), SYSTEM, result("a")], ["user", "assistant", "user"], 1),
        ([USER, {"role": "system", "content": ""}], ["user"], 0),
    ],
)
def test_later_instructions_stay_in_their_place_where_the_model_takes_them(
    messages: list[Any], sides: list[str], instructions: int
) -> None:
    request = asked("v/m", messages)
    found = conversation(VENDOR, request.messages, Omissions(VENDOR), keeps_later=True)
    assert [turn.side for turn in found.turns] == sides
    assert len(found.instructions) == instructions
    apart = conversation(VENDOR, request.messages, Omissions(VENDOR))
    assert "system" not in {turn.side for turn in apart.turns}


def test_results_of_one_turn_come_together_in_the_order_of_the_calls() -> None:
    messages = [USER, calls("a", "b"), result("b"), result("a"), {"role": "user", "content": "go"}]
    assert shape(*messages) == [
        ("user", [], ["hi"]),
        ("assistant", [], [""]),
        ("user", ["a", "b"], ["go"]),
    ]
    (last,) = [turn for turn in turns_of(*messages).turns if turn.results]
    assert [one.call.name for one in last.results] == ["get_a", "get_b"]


def test_a_second_round_of_calls_has_results_of_its_own() -> None:
    messages = [USER, calls("a"), result("a"), calls("a"), result("a")]
    assert [len(turn.results) for turn in turns_of(*messages).turns] == [0, 0, 1, 0, 1]


@pytest.mark.parametrize(
    ("messages", "path"),
    [
        ([USER, calls("a", "b"), result("a"), USER], "messages[1].tool_calls[1]"),
        ([USER, calls("a")], "messages[1].tool_calls[0]"),
        ([USER, calls("a"), USER, result("a")], "messages[1].tool_calls[0]"),
        ([USER, calls("a", "b"), result("a"), USER, result("b")], "messages[1].tool_calls[1]"),
        ([USER, result("c9")], "messages[1].tool_call_id"),
        ([result("c9")], "messages[0].tool_call_id"),
        ([USER, calls("a"), result("a"), result("a")], "messages[3].tool_call_id"),
        ([USER, calls("a"), result("a"), USER, result("a")], "messages[4].tool_call_id"),
        ([USER, calls("a", "a"), result("a")], "messages[1].tool_calls[1].id"),
        ([{"role": "user", "content": ""}], "messages[0].content"),
        ([{"role": "user", "content": " \n"}], "messages[0].content"),
        ([USER, {"role": "user", "content": [{"type": "text", "text": ""}]}],
         "messages[1].content"),
        ([{"role": "system", "content": "Tell a joke"}], "messages"),
        ([{"role": "assistant", "content": ""}], "messages"),
        ([{"role": "system", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}, USER],
         "messages[0].content[0].type"),
    ],
)  # fmt: skip
def test_what_cannot_be_placed_is_named_by_its_path(messages: list[Any], path: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        turns_of(*messages)
    assert caught.value.param == path
    assert path in caught.value.message


def test_an_unanswered_call_is_named_by_its_id() -> None:
    with pytest.raises(InvalidRequest, match="`b`"):
        turns_of(USER, calls("a", "b"), result("a"))


@pytest.mark.parametrize("content", ["", None, " ", [{"type": "text", "text": ""}]])
def test_an_assistants_message_without_anything_is_left_out(content: Any) -> None:
    empty = {"role": "assistant", "content": content, "refusal": None}
    assert shape(USER, empty, USER) == [("user", [], ["hi", "hi"])]
    assert shape(USER, empty | {"refusal": "No."}, USER)[1][0] == "assistant"
    assert shape(USER, empty | {"thinking_blocks": [{}]}, USER)[1][0] == "assistant"
    assert shape(USER, empty | {"images": [{}]}, USER)[1][0] == "assistant"


def test_a_name_of_an_author_is_left_out_and_told() -> None:
    named = {**USER, "name": "Ann"}
    omissions = Omissions(VENDOR)
    conversation(VENDOR, asked("v/m", [named, named]).messages, omissions)
    assert omissions.names == ("name",)


def test_a_name_beside_a_result_is_the_calls_own() -> None:
    assert len(turns_of(USER, calls("a"), {**result("a"), "name": "get_a"}).turns) == 3
