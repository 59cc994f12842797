from typing import Any

import pytest

from tests.gateways.anthropic.chat import (
    BUDGETS,
    EFFORTS,
    HOUR,
    ROW,
    USER,
    call,
    calling,
    result,
    sent,
    tool,
    types_of,
)

F = [tool("f")]


def turns(*messages: dict[str, Any], **fields: Any) -> list[dict[str, Any]]:
    """Return the turns that the vendor gets."""
    return list(sent(BUDGETS, messages, **fields)["messages"])


@pytest.mark.parametrize("role", ["system", "developer"])
def test_every_instruction_is_a_block_of_its_own_in_order(role: str) -> None:
    body = sent(BUDGETS, [{"role": role, "content": "A"}, {"role": "system", "content": "B"}, USER])
    assert body["system"] == [{"type": "text", "text": "A"}, {"type": "text", "text": "B"}]
    assert body["messages"] == [USER]


def test_an_empty_instruction_is_none() -> None:
    assert "system" not in sent(BUDGETS, [{"role": "system", "content": ""}, USER])


def test_instructions_alone_are_refused() -> None:
    assert ROW.refused(BUDGETS, [{"role": "system", "content": "Tell a joke"}]) == "messages"


@pytest.mark.parametrize("content", ["", None, " ", [{"type": "text", "text": ""}]])
def test_blank_text_beside_a_call_is_no_block(content: Any) -> None:
    found = turns(USER, calling(call("a"), content=content), result("a"), tools=F)
    assert types_of(found[1]["content"]) == ["tool_use"]


def test_our_own_reply_comes_back_with_its_nulls() -> None:
    ours = calling(
        call("a"), refusal=None, annotations=[], audio=None, function_call=None, parsed=None
    )
    assert types_of(turns(USER, ours, result("a"), tools=F)[1]["content"]) == ["tool_use"]
    assert ROW.refused(BUDGETS, [{"role": "user", "content": None}]) == "messages[0].content"


def test_results_are_one_turn_with_the_text_that_follows() -> None:
    found = turns(
        USER,
        calling(call("x"), call("y")),
        result("y", "2"),
        result("x", "1"),
        {"role": "user", "content": "go on"},
        tools=F,
    )
    assert found[2] == {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "x", "content": "1"},
            {"type": "tool_result", "tool_use_id": "y", "content": "2"},
            {"type": "text", "text": "go on"},
        ],
    }


def test_messages_of_one_side_keep_their_bounds_as_blocks() -> None:
    found = turns(USER, {"role": "user", "content": "again"})
    texts = [{"type": "text", "text": "hi"}, {"type": "text", "text": "again"}]
    assert found == [{"role": "user", "content": texts}]


def test_a_refusal_of_before_is_what_the_assistant_said() -> None:
    found = turns(USER, {"role": "assistant", "content": None, "refusal": "No."}, USER)
    assert found[1] == {"role": "assistant", "content": "No."}


def test_the_assistants_last_message_is_continued_where_the_model_does_that() -> None:
    begun = {"role": "assistant", "content": "The capital is"}
    assert turns(USER, begun) == [USER, begun]
    assert ROW.refused(EFFORTS, [USER, begun]) == "messages[1]"
    blank = {"role": "assistant", "content": "The capital is "}
    assert ROW.refused(BUDGETS, [USER, blank]) == "messages[1].content"


@pytest.mark.parametrize("arguments", ['{"a":1}{"b":2}', '{"a":', "[1]", "5"])
def test_broken_arguments_are_refused_by_their_path(arguments: str) -> None:
    messages = [USER, calling(call("a", arguments=arguments)), result("a")]
    path = "messages[1].tool_calls[0].function.arguments"
    assert ROW.refused(BUDGETS, messages, tools=F) == path


def test_no_arguments_are_an_empty_object() -> None:
    found = turns(USER, calling(call("a", arguments="")), result("a"), tools=F)
    assert found[1]["content"][0]["input"] == {}


def test_orphans_are_refused() -> None:
    calls = calling(call("c1"), call("c2"))
    path = "messages[1].tool_calls[1]"
    assert ROW.refused(BUDGETS, [USER, calls, result("c1"), USER], tools=F) == path
    assert ROW.refused(BUDGETS, [USER, result("c9")], tools=F) == "messages[1].tool_call_id"


def test_illegal_ids_are_mapped_in_call_and_result_and_always_the_same() -> None:
    ids = ["functions.get:0", "functions_get_0", "toolu_01"]
    messages = [USER, calling(*map(call, ids)), *map(result, ids)]
    found = turns(*messages, tools=F)
    used = [block["id"] for block in found[1]["content"]]
    assert [block["tool_use_id"] for block in found[2]["content"]] == used
    assert used[1:] == ids[1:]
    assert len(set(used)) == 3
    assert ROW.encoded(BUDGETS, messages, tools=F) == ROW.encoded(BUDGETS, messages, tools=F)


def test_ids_that_another_vendor_gives_out_every_turn_stay_apart() -> None:
    found = turns(USER, calling(call("0")), result("0"), calling(call("0")), result("0"), tools=F)
    first, second = (found[at]["content"][0]["id"] for at in (1, 3))
    assert first != second
    assert found[4]["content"][0]["tool_use_id"] == second


def test_a_result_may_be_empty_and_may_hold_images() -> None:
    image = {"type": "image_url", "image_url": {"url": "https://ex.org/a.png"}}
    found = turns(
        USER,
        calling(call("a"), call("b")),
        result("a", ""),
        result("b", [{"type": "text", "text": "see"}, image]),
        tools=F,
    )
    empty, seen = found[2]["content"]
    assert empty == {"type": "tool_result", "tool_use_id": "a"}
    assert types_of(seen["content"]) == ["text", "image"]


def test_marks_of_the_cache_are_at_exactly_their_places() -> None:
    mark = {"cache_control": HOUR}
    body = sent(
        BUDGETS,
        [
            {"role": "system", "content": [
                {"type": "text", "text": "A", **mark}, {"type": "text", "text": "B"}]},
            {"role": "user", "content": [{"type": "text", "text": "hi", **mark}]},
            calling(call("a")),
            result("a", **mark),
        ],
        tools=[tool("f"), {**tool("g"), **mark}],
    )  # fmt: skip
    assert [block.get("cache_control") for block in body["system"]] == [HOUR, None]
    assert [block.get("cache_control") for block in body["tools"]] == [None, HOUR]
    user, _, done = (turn["content"] for turn in body["messages"])
    assert user == [{"type": "text", "text": "hi", **mark}]
    assert done == [{"type": "tool_result", "tool_use_id": "a", "content": "done", **mark}]
    assert str(body).count("cache_control") == 4


def test_a_mark_that_is_null_is_none() -> None:
    assert "cache_control" not in str(sent(BUDGETS, [{**USER, "cache_control": None}]))


def test_an_authors_name_is_left_out_and_told() -> None:
    encoded = ROW.encoded(BUDGETS, [{**USER, "name": "Ann"}])
    assert encoded.dropped == ("name",)
    assert b"Ann" not in encoded.body


def test_a_later_instruction_is_in_its_place_where_the_model_takes_it() -> None:
    later = {"role": "developer", "content": "B"}
    body = sent(EFFORTS, [{"role": "system", "content": "A"}, USER, later])
    assert body["messages"][1] == {"role": "system", "content": "B"}
    assert len(body["system"]) == 1
    body = sent(BUDGETS, [{"role": "system", "content": "A"}, USER, later])
    assert [block["text"] for block in body["system"]] == ["A", "B"]
    assert len(body["messages"]) == 1
