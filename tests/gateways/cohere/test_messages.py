"""Conversations as Cohere's messages."""

from typing import Any

import pytest

from tests.gateways.cohere.chat import REASONING, refused, sent
from tests.gateways.gemini.chat import call, calls, result, user

PIXEL = "iVBORw0KGgo="


def messages(*told: Any, **fields: Any) -> Any:
    return sent(list(told), **fields)["messages"]


def test_instructions_keep_their_places_and_have_one_role() -> None:
    assert messages(
        {"role": "system", "content": "A"},
        {"role": "developer", "content": [{"type": "text", "text": "B"}]},
        {"role": "system", "content": ""},
        user("hi"),
        {"role": "system", "content": "C"},
        user("go on"),
    ) == [
        {"role": "system", "content": "A"},
        {"role": "system", "content": "B"},
        user("hi"),
        {"role": "system", "content": "C"},
        user("go on"),
    ]


def test_parts_stay_parts() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert messages(user(parts)) == [user(parts)]
    assert messages(user("a"), user("b")) == [user("a"), user("b")]


@pytest.mark.parametrize("content", ["", None, [{"type": "text", "text": " "}]])
def test_an_assistants_message_without_anything_is_left_out(content: Any) -> None:
    assert messages(user("a"), calls(content=content), user("b")) == [user("a"), user("b")]
    asked = messages(user("a"), calls(call("c1"), content=content), result("c1"))
    assert set(asked[1]) == {"role", "tool_calls"}


@pytest.mark.parametrize(
    ("told", "path"),
    [
        ([{"role": "system", "content": "A"}], "messages"),
        ([user("")], "messages[0].content"),
        ([user("a"), calls(content="The capital is ")], "messages[1]"),
        ([user("a"), calls(call("c1")), user("b")], "messages[1].tool_calls[0]"),
        ([user("a"), result("c9")], "messages[1].tool_call_id"),
        ([user("a"), {"role": "function", "name": "f", "content": "b"}], "messages[1].role"),
    ],
)
def test_what_cohere_does_not_take_is_refused_by_its_path(told: Any, path: str) -> None:
    assert refused(told) == path


def test_calls_and_results_are_as_in_the_contract_and_the_text_is_the_plan() -> None:
    told = messages(
        user("hi"),
        calls(
            call("c1", "get", '{"b": 1.0,  "a": 2}'), call("c2", arguments=""), content="I look."
        ),
        result("c2", [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}]),
        result("c1", ""),
        user("So?"),
    )
    assert told[1:4] == [
        {
            "role": "assistant",
            "tool_plan": "I look.",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "get", "arguments": '{"b": 1.0,  "a": 2}'},
                },
                {"id": "c2", "type": "function", "function": {"name": "get", "arguments": "{}"}},
            ],
        },
        {
            "role": "tool",
            "tool_call_id": "c2",
            "content": [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": ""}]},
    ]


def test_reasoning_goes_back_to_models_that_reason() -> None:
    said = [user("hi"), calls(content="A", reasoning_content="hm"), user("go on")]
    thinking = {"type": "thinking", "thinking": "hm"}
    assert sent(said, REASONING)["messages"][1]["content"] == [
        thinking,
        {"type": "text", "text": "A"},
    ]
    assert sent(said)["messages"][1]["content"] == "A"
    loop = [user("hi"), calls(call("c1"), content="I look.", reasoning_content="hm"), result("c1")]
    (_, asked, _) = sent(loop, REASONING)["messages"]
    assert (asked["content"], asked["tool_plan"]) == ([thinking], "I look.")


def test_a_refusal_goes_back_as_text() -> None:
    assert messages(user("a"), calls(refusal="No."), user("b"))[1]["content"] == "No."


# Images.


def image(url: str, **more: Any) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url, **more}}


def test_an_image_is_a_url_or_bytes_of_a_registered_type() -> None:
    text = {"type": "text", "text": "What is it?"}
    web = image("https://ex.org/a.png", detail="low")
    bytes_ = image(f"data:image/jpg;base64,{PIXEL}")
    assert messages(user([text, web, bytes_])) == [
        user([text, web, image(f"data:image/jpeg;base64,{PIXEL}")])
    ]
    assert messages(user([web])) == [user([web])]


@pytest.mark.parametrize(
    ("part", "path"),
    [
        (image("data:image/svg+xml;base64,AAAA"), "image_url.url"),
        (image("file:///etc/passwd"), "image_url.url"),
        (image("gs://x/y"), "image_url.url"),
        (image("https://ex.org/a.png", detail="original"), "image_url.detail"),
        ({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}, "type"),
        ({"type": "file", "file": {"file_data": "data:application/pdf;base64,AAAA"}}, "type"),
        ({"type": "video_url"}, "type"),
        ({"type": "x"}, "type"),
    ],
)
def test_a_part_that_cohere_does_not_take_is_refused_by_its_path(part: Any, path: str) -> None:
    text = {"type": "text", "text": "a"}
    assert refused([user([text, part])]) == f"messages[0].content[1].{path}"


def test_a_result_has_texts_alone() -> None:
    told = [user("a"), calls(call("c1")), result("c1", [image("https://ex.org/a.png")])]
    assert refused(told) == "messages[2].content[0].type"
