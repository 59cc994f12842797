"""Conversations as Google's contents: roles, turns, calls, results and signatures."""

from typing import Any

import pytest

from app.gateways.gemini.contents import LOST_SIGNATURE
from tests.gateways.chat_rows import message_of
from tests.gateways.gemini.chat import (
    GEMINI,
    NEW,
    OLD,
    PIXEL,
    answered,
    call,
    calls,
    contents,
    function_call,
    result,
    sent,
    signed,
    user,
)

# Roles and turns.


def test_instructions_of_either_role_stand_apart_in_their_order() -> None:
    body = sent(
        NEW,
        [
            {"role": "system", "content": "A"},
            {"role": "developer", "content": [{"type": "text", "text": "B"}]},
            {"role": "system", "content": ""},
            user("hi"),
            {"role": "system", "content": "C"},
        ],
    )
    assert body["systemInstruction"] == {"parts": [{"text": "A"}, {"text": "B"}, {"text": "C"}]}
    assert body["contents"] == [{"role": "user", "parts": [{"text": "hi"}]}]


def test_empty_instructions_are_none() -> None:
    assert "systemInstruction" not in sent(NEW, [{"role": "system", "content": ""}, user("hi")])


def test_instructions_alone_are_refused_in_our_words() -> None:
    assert GEMINI.refused(NEW, [{"role": "system", "content": "Tell a joke"}]) == "messages"


def test_instructions_and_tools_stand_before_the_contents() -> None:
    """So that turns that are added change the end of the body alone."""
    fields: dict[str, Any] = {
        "tools": [{"type": "function", "function": {"name": "f"}}],
        "temperature": 0.5,
    }
    body = sent(NEW, [{"role": "system", "content": "A"}, user("hi")], **fields)
    assert list(body) == ["systemInstruction", "tools", "generationConfig", "contents"]


def test_messages_of_one_side_are_one_turn() -> None:
    assert contents([user("a"), user("b"), calls(content="c"), user("d")]) == [
        {"role": "user", "parts": [{"text": "a"}, {"text": "b"}]},
        {"role": "model", "parts": [{"text": "c"}]},
        {"role": "user", "parts": [{"text": "d"}]},
    ]


def test_a_trailing_turn_of_the_assistant_is_sent_as_it_is() -> None:
    told = contents([user("Capital?"), calls(content="The capital is ")])
    assert told[-1] == {"role": "model", "parts": [{"text": "The capital is "}]}


def test_the_name_of_an_author_is_left_out_and_told() -> None:
    assert GEMINI.encoded(NEW, [{**user("hi"), "name": "Ann"}]).dropped == ("name",)


@pytest.mark.parametrize("content", ["", None, [{"type": "text", "text": ""}]])
def test_an_assistants_turn_without_text_has_its_calls_alone(content: Any) -> None:
    told = contents([user("hi"), calls(call("c1"), content=content), result("c1")], OLD)
    assert told[1]["parts"] == [{"functionCall": {"name": "get", "args": {}}}]


def test_a_blank_message_of_a_user_is_refused_by_its_path() -> None:
    assert GEMINI.refused(NEW, [user("hi"), calls(content="a"), user("")]) == "messages[2].content"


def test_an_assistants_turn_of_anothers_thoughts_alone_is_refused() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    path = GEMINI.refused(NEW, [user("hi"), calls(thinking_blocks=[thought]), user("go")])
    assert path == "messages[1].content"


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"functions": [{"name": "f"}]}, "functions"),
        ({"function_call": {"name": "f"}}, "function_call"),
    ],
)
def test_the_old_fields_of_functions_are_refused_by_name(fields: Any, path: str) -> None:
    assert GEMINI.refused(NEW, **fields) == path


# Calls and results.

ROME = call("A", arguments='{"city": "Rome"}')
OSLO = call("B", arguments='{"city": "Oslo"}')


def test_results_take_the_order_of_their_calls_and_their_functions_names() -> None:
    messages = [user("hi"), calls(ROME, OSLO), result("B", "-2"), result("A", "19"), user("So?")]
    told = contents(messages)
    assert [part["functionCall"] for part in told[1]["parts"]] == [
        {"id": "A", "name": "get", "args": {"city": "Rome"}},
        {"id": "B", "name": "get", "args": {"city": "Oslo"}},
    ]
    assert told[2] == {
        "role": "user",
        "parts": [
            {"functionResponse": {"id": "A", "name": "get", "response": {"output": "19"}}},
            {"functionResponse": {"id": "B", "name": "get", "response": {"output": "-2"}}},
            {"text": "So?"},
        ],
    }


def test_models_before_3_get_no_ids() -> None:
    told = contents([user("hi"), calls(ROME), result("A", "19")], OLD)
    assert told[1]["parts"] == [{"functionCall": {"name": "get", "args": {"city": "Rome"}}}]
    assert told[2]["parts"] == [
        {"functionResponse": {"name": "get", "response": {"output": "19"}}},
    ]


@pytest.mark.parametrize(
    ("content", "output"),
    [
        ('{"$ref": "#/x", "n": 1.0}', '{"$ref": "#/x", "n": 1.0}'),  # a text, and no object
        ("", ""),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], ["a", "b"]),
    ],
)
def test_a_results_text_stays_text(content: Any, output: Any) -> None:
    told = contents([user("hi"), calls(ROME), result("A", content)])
    assert told[2]["parts"][0]["functionResponse"]["response"] == {"output": output}


IMAGE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
INLINE = {"inlineData": {"mimeType": "image/png", "data": PIXEL}}


def test_images_of_a_result_are_in_it_or_before_it_by_the_model() -> None:
    messages = [user("hi"), calls(ROME), result("A", [{"type": "text", "text": "it"}, IMAGE])]
    (part,) = contents(messages, NEW)[2]["parts"]
    assert part["functionResponse"]["parts"] == [INLINE]
    before, after = contents(messages, OLD)[2]["parts"]
    assert before == INLINE
    assert after["functionResponse"]["response"] == {"output": "it"}


@pytest.mark.parametrize(
    ("messages", "path"),
    [
        ([user("hi"), calls(ROME), result("zz")], "messages[2].tool_call_id"),
        ([user("hi"), calls(ROME, OSLO), result("A"), user("n")], "messages[1].tool_calls[1]"),
        ([user("hi"), result("c9")], "messages[1].tool_call_id"),
    ],
)
def test_a_call_or_a_result_without_the_other_is_refused(messages: Any, path: str) -> None:
    assert GEMINI.refused(NEW, messages) == path


@pytest.mark.parametrize("arguments", ['{"a":1}{"b":2}', '{"a":', "[1]", "5"])
def test_broken_arguments_are_refused_by_their_path(arguments: str) -> None:
    messages = [user("hi"), calls(call("A", arguments=arguments)), result("A")]
    assert GEMINI.refused(NEW, messages) == "messages[1].tool_calls[0].function.arguments"


def test_no_arguments_are_an_empty_object() -> None:
    told = contents([user("hi"), calls(call("A", arguments="")), result("A")], OLD)
    assert told[1]["parts"] == [{"functionCall": {"name": "get", "args": {}}}]


# Signatures.


def test_signatures_return_on_their_own_parts() -> None:
    messages = [
        user("hi"),
        calls({**ROME, **signed("c2ln")}, OSLO, content="Let me see.", **signed("dGV4dA==")),
        result("A"),
        result("B"),
    ]
    assert contents(messages)[1]["parts"] == [
        {"text": "Let me see.", "thoughtSignature": "dGV4dA=="},
        {
            "functionCall": {"id": "A", "name": "get", "args": {"city": "Rome"}},
            "thoughtSignature": "c2ln",
        },
        {"functionCall": {"id": "B", "name": "get", "args": {"city": "Oslo"}}},
    ]


@pytest.mark.parametrize("model", [NEW, OLD])
def test_an_answer_can_come_back_unchanged(model: str) -> None:
    parts = [
        {"text": "Let me see.", "thoughtSignature": "dGV4dA=="},
        function_call("get", "c2ln", id="A", args={"city": "Rome"}),
        function_call("get", None, id="B", args={"city": "Oslo"}),
    ]
    message = message_of(answered({"text": "hm", "thought": True}, *parts))
    told = contents([user("hi"), message, result("B"), result("A")], model)[1]["parts"]
    for part in parts:
        if model == OLD and isinstance(made := part.get("functionCall"), dict):
            made.pop("id")
    assert told == parts


def test_a_loop_of_three_turns_returns_exactly_the_signatures_that_it_got() -> None:
    messages: list[Any] = [user("hi")]
    signatures = ["czE=", "czI=", "czM="]
    for at, signature in enumerate(signatures):
        said = answered(
            {"text": f"thought {at}", "thought": True},
            function_call("get", signature, id=f"c{at}", args={"n": at}),
        )
        messages += [message_of(said), result(f"c{at}")]
    turns = [turn for turn in contents(messages) if turn["role"] == "model"]
    assert [turn["parts"] for turn in turns] == [
        [function_call("get", signature, id=f"c{at}", args={"n": at})]
        for at, signature in enumerate(signatures)
    ]


def test_a_signature_without_text_is_on_an_empty_one() -> None:
    message = calls(ROME, **signed("dGV4dA=="))
    told = contents([user("hi"), message, result("A")], OLD)[1]["parts"]
    assert told[0] == {"text": "", "thoughtSignature": "dGV4dA=="}


def test_a_lost_signature_is_said_to_be_lost_on_the_first_call_of_each_step() -> None:
    """As Google's documentation has it for calls that are not the model's own."""
    messages = [
        user("before"),
        calls(call("Z")),
        result("Z"),
        user("hi"),
        calls(ROME, OSLO),
        result("A"),
        result("B"),
        calls(call("C")),
        result("C"),
    ]
    model_turns = [turn["parts"] for turn in contents(messages) if turn["role"] == "model"]
    kept = [[part.get("thoughtSignature") for part in parts] for parts in model_turns]
    assert kept == [[None], [LOST_SIGNATURE, None], [LOST_SIGNATURE]]


def test_models_that_need_no_signature_get_none_made_up() -> None:
    told = contents([user("hi"), calls(ROME), result("A")], OLD)
    assert "thoughtSignature" not in told[1]["parts"][0]


@pytest.mark.parametrize(
    ("message", "where"),
    [
        (calls(ROME, **signed(5)), "messages[1]"),  # type: ignore[arg-type]
        (calls({**ROME, **signed([])}), "messages[1].tool_calls[0]"),  # type: ignore[arg-type]
    ],
)
def test_a_signature_that_is_no_text_is_refused_by_its_path(message: Any, where: str) -> None:
    path = GEMINI.refused(NEW, [user("hi"), message, result("A")])
    assert path == f"{where}.extra_content.google.thought_signature"


@pytest.mark.parametrize("extra", [{"extra_content": None}, {"extra_content": {"google": None}}])
def test_a_signature_that_is_null_is_none(extra: Any) -> None:
    told = contents([user("hi"), calls({**ROME, **extra}, **extra), result("A")], OLD)
    assert "thoughtSignature" not in told[1]["parts"][0]


def test_images_that_the_model_made_return_with_their_signatures() -> None:
    inline = {**INLINE, "thoughtSignature": "c2ln"}
    message = message_of(answered("Here:", inline, INLINE))
    told = contents([user("Draw"), message, user("Bluer")], "gemini-3-pro-image-preview")
    assert told[1]["parts"] == [{"text": "Here:"}, inline, INLINE]
    alone = message_of(answered(inline))
    assert contents([user("Draw"), alone, user("Bluer")])[1]["parts"] == [inline]


def test_an_image_of_the_assistant_that_is_no_data_url_is_refused_by_its_path() -> None:
    image = {"type": "image_url", "image_url": {"url": "https://ex.org/a.png"}}
    path = GEMINI.refused(NEW, [user("hi"), calls(content="a", images=[image]), user("b")])
    assert path == "messages[1].images[0].image_url.url"


def test_a_refusal_returns_as_text() -> None:
    told = contents([user("hi"), calls(refusal="No."), user("why?")])
    assert told[1]["parts"] == [{"text": "No."}]
