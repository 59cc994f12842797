from typing import Any

import pytest

from tests.gateways.anthropic.chat import HOUR, USER, call, calling, result, tool
from tests.gateways.bedrock.chat import BUDGETS, EFFORTS, QWEN, ROW, sent

F = [tool("f")]
POINT = {"cachePoint": {"type": "default", "ttl": "1h"}}
PDF = {"type": "file", "file": {"filename": "a b.pdf",
                                "file_data": "data:application/pdf;base64,JVBERi0="}}  # fmt: skip


def turns(*messages: dict[str, Any], **fields: Any) -> list[dict[str, Any]]:
    """Return the turns that the vendor gets."""
    return list(sent(BUDGETS, messages, **fields)["messages"])


def used(call_id: str, name: str = "f", **arguments: Any) -> dict[str, Any]:
    return {"toolUse": {"toolUseId": call_id, "name": name, "input": arguments}}


@pytest.mark.parametrize("role", ["system", "developer"])
def test_every_instruction_is_a_block_of_its_own_in_order(role: str) -> None:
    body = sent(BUDGETS, [{"role": role, "content": "A"}, {"role": "system", "content": "B"}, USER])
    assert body["system"] == [{"text": "A"}, {"text": "B"}]
    assert body["messages"] == [{"role": "user", "content": [{"text": "hi"}]}]
    assert "system" not in sent(BUDGETS, [{"role": "system", "content": ""}, USER])
    assert ROW.refused(BUDGETS, [{"role": "system", "content": "A"}]) == "messages"


@pytest.mark.parametrize("content", ["", None, [{"type": "text", "text": ""}]])
def test_blank_text_beside_a_call_is_no_block(content: Any) -> None:
    found = turns(USER, calling(call("a"), content=content), result("a"), tools=F)
    assert found[1]["content"] == [used("a")]
    assert ROW.refused(BUDGETS, [{"role": "user", "content": ""}]) == "messages[0].content"


def test_results_are_one_turn_with_the_text_that_follows() -> None:
    found = turns(
        USER,
        calling(call("x", arguments='{"z":1,"a":2}'), call("y")),
        result("y", "2"),
        result("x", "1"),
        {"role": "user", "content": "go on"},
        tools=F,
    )
    assert found[1]["content"] == [used("x", z=1, a=2), used("y")]
    assert found[2] == {
        "role": "user",
        "content": [
            {"toolResult": {"toolUseId": "x", "content": [{"text": "1"}]}},
            {"toolResult": {"toolUseId": "y", "content": [{"text": "2"}]}},
            {"text": "go on"},
        ],
    }


def test_an_assistants_texts_stand_before_its_calls_whatever_their_order() -> None:
    found = turns(
        USER,
        calling(call("a")),
        {"role": "assistant", "content": None, "refusal": "No."},
        result("a"),
        tools=F,
    )
    assert found[1]["content"] == [{"text": "No."}, used("a")]


def test_a_last_message_of_the_assistant_is_continued_where_the_model_does_that() -> None:
    begun = {"role": "assistant", "content": "The capital is"}
    assert turns(USER, begun)[1] == {"role": "assistant", "content": [{"text": "The capital is"}]}
    assert ROW.refused(EFFORTS, [USER, begun]) == "messages[1]"
    assert ROW.refused(BUDGETS, [USER, {**begun, "content": "a "}]) == "messages[1].content"


def test_broken_arguments_and_orphans_are_refused_by_their_path() -> None:
    broken = [USER, calling(call("a", arguments='{"a":')), result("a")]
    path = "messages[1].tool_calls[0]"
    assert ROW.refused(BUDGETS, broken, tools=F) == f"{path}.function.arguments"
    assert ROW.refused(BUDGETS, [USER, calling(call("a")), USER], tools=F) == path


def test_illegal_ids_are_mapped_in_call_and_result() -> None:
    ids = ["functions.get:0", "a b", "x" * 70]
    found = turns(USER, calling(*map(call, ids)), *map(result, ids), tools=F)
    made = [block["toolUse"]["toolUseId"] for block in found[1]["content"]]
    assert [block["toolResult"]["toolUseId"] for block in found[2]["content"]] == made
    assert made[0] == ids[0]
    assert len(set(made)) == 3


def test_a_result_may_be_empty_and_may_hold_images() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/jpg;base64,AAAA"}}
    found = turns(
        USER, calling(call("a"), call("b")), result("a", ""), result("b", [image]), tools=F
    )
    empty, seen = (block["toolResult"]["content"] for block in found[2]["content"])
    assert empty == []
    assert seen == [{"image": {"format": "jpeg", "source": {"bytes": "AAAA"}}}]


def test_a_file_without_a_text_is_refused_and_none_is_added() -> None:
    alone = [{"role": "user", "content": [PDF]}]
    assert ROW.refused(BUDGETS, alone) == "messages[0].content"
    (turn,) = turns({"role": "user", "content": [PDF, {"type": "text", "text": "read"}]})
    assert [next(iter(block)) for block in turn["content"]] == ["document", "text"]


MARKED: list[dict[str, Any]] = [
    {"role": "system", "content": [
        {"type": "text", "text": "A", "cache_control": HOUR}, {"type": "text", "text": "B"}]},
    {"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": HOUR}]},
    calling(call("a")),
    result("a", cache_control=HOUR),
]  # fmt: skip
TOOLS = [tool("f"), {**tool("g"), "cache_control": HOUR}]


def test_a_cache_point_follows_each_marked_block() -> None:
    body = sent(BUDGETS, MARKED, tools=TOOLS)
    assert body["system"] == [{"text": "A"}, POINT, {"text": "B"}]
    assert body["messages"][0]["content"] == [{"text": "hi"}, POINT]
    assert body["messages"][2]["content"][1] == POINT
    assert [next(iter(block)) for block in body["toolConfig"]["tools"]] == [
        "toolSpec",
        "toolSpec",
        "cachePoint",
    ]
    assert str(body).count("cachePoint") == 4


def test_a_mark_inside_a_result_is_one_of_the_whole_and_needs_no_life_time() -> None:
    marked = [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}]
    found = turns(USER, calling(call("a")), result("a", marked), tools=F)
    assert found[2]["content"][1] == {"cachePoint": {"type": "default"}}


def test_marks_are_left_out_and_told_where_the_model_has_no_cache() -> None:
    body = sent(QWEN, MARKED, tools=TOOLS)
    assert "cachePoint" not in str(body)
    assert ROW.encoded(QWEN, MARKED, tools=TOOLS).dropped == ("cache_control",)


def test_a_later_instruction_is_in_its_place_where_the_model_takes_it() -> None:
    later = {"role": "developer", "content": "B"}
    body = sent("anthropic.claude-opus-4-8-v1", [{"role": "system", "content": "A"}, USER, later])
    assert body["messages"][1] == {"role": "system", "content": [{"text": "B"}]}
    assert len(body["system"]) == 1
    body = sent(BUDGETS, [{"role": "system", "content": "A"}, USER, later])
    assert [block["text"] for block in body["system"]] == ["A", "B"]
    assert len(body["messages"]) == 1
