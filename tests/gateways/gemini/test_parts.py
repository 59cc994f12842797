"""The parts of Google's answers: text, thoughts, calls, images, signatures; whole and streamed."""

import json
from typing import Any

import pytest

from app.gateways.conversation.origins import marked
from app.gateways.decoding.choices.calls import NO_ARGUMENTS
from app.vocabulary.chat.reply import Reply
from app.vocabulary.chat.tools import ToolCall
from app.vocabulary.errors import VendorFailed
from tests.gateways.chat_rows import joined, reply_of
from tests.gateways.gemini.chat import (
    GEMINI,
    NEW,
    OLD,
    PIXEL,
    answered,
    arguments_of,
    function_call,
    signed,
    streamed,
)
from tests.gateways.gemini.wire import candidate, event, response

THOUGHT = {"text": "hm", "thought": True}


def test_thoughts_are_the_reasoning_and_no_text() -> None:
    choice = answered(THOUGHT, "A", {"text": "!", "thought": True}, "B")
    assert (choice.text, choice.reply) == ("AB", Reply("hm!"))
    streams = joined(GEMINI.chunks(streamed([THOUGHT], ["A", THOUGHT], ["B"])))
    assert (streams[0].text, streams[0].reply) == ("AB", Reply("hmhm"))


def test_the_usual_answer_has_a_text_and_nothing_else() -> None:
    assert answered("A").reply is None
    chunks = GEMINI.chunks(streamed(["A"], ["B"]))
    assert [choice.reply for chunk in chunks for choice in chunk.choices] == [None, None, None]


# Calls.


def test_calls_have_their_signatures_and_the_others_none() -> None:
    choice = answered(
        function_call("f", "c2ln", id="A", args={"city": "Rome", "n": 1.0}),
        function_call("f", None, id="B", args={}),
    )
    assert choice.finish_reason == "tool_calls"
    assert reply_of(choice).tool_calls == (
        ToolCall(0, "A", "f", '{"city":"Rome","n":1.0}', extra=signed("c2ln")),
        ToolCall(1, "B", "f", "{}"),
    )


@pytest.mark.parametrize("last", [{}, {"candidates": [{"finishReason": "STOP"}]}])
def test_calls_of_several_events_are_counted_on_and_end_with_tool_calls(last: Any) -> None:
    calls = [function_call("f", args={"at": at}) for at in range(3)]
    stream = streamed([calls[0]], [calls[1]], [calls[2]], last=last)
    chunks = GEMINI.chunks(stream, model=OLD)
    made = [c for chunk in chunks for x in chunk.choices for c in reply_of(x).tool_calls]
    assert [(piece.index, piece.name) for piece in made] == [(0, "f"), (1, "f"), (2, "f")]
    assert len({piece.id for piece in made}) == 3
    assert all(piece.id for piece in made)
    choice, _ = joined(chunks)
    assert choice.finish_reason == "tool_calls"
    assert arguments_of(choice) == [{"at": 0}, {"at": 1}, {"at": 2}]


def test_several_calls_of_one_event_are_told_apart() -> None:
    two = [function_call("f", id="A"), function_call("g", id="B")]
    choice, _ = joined(GEMINI.chunks(streamed(two)))
    assert [(c.index, c.id, c.name) for c in reply_of(choice).tool_calls] == [
        (0, "A", "f"),
        (1, "B", "g"),
    ]


@pytest.mark.parametrize("args", [{}, {"args": {}}, {"args": None}])
def test_a_call_without_arguments_has_an_empty_object(args: Any) -> None:
    (whole,) = reply_of(answered(function_call("f", **args))).tool_calls
    assert whole.arguments == NO_ARGUMENTS
    choice, _ = joined(GEMINI.chunks(streamed([function_call("f", **args)])))
    assert reply_of(choice).tool_calls[0].arguments == NO_ARGUMENTS


@pytest.mark.parametrize(
    ("finish", "reason"), [("MAX_TOKENS", "length"), ("SAFETY", "content_filter")]
)
def test_the_limit_and_the_filter_win_over_calls(finish: str, reason: str) -> None:
    call = function_call("f", id="A", args={"city": "Rome"})
    assert answered(call, finish=finish).finish_reason == reason
    choice, _ = joined(GEMINI.chunks(streamed([call], finish=finish)))
    assert choice.finish_reason == reason
    assert arguments_of(choice) == [{"city": "Rome"}]


def test_calls_are_counted_in_each_choice() -> None:
    both = [
        candidate(function_call("f", args={"at": index}), finish=None, index=index)
        for index in range(2)
    ]
    ends = [candidate(index=index) for index in range(2)]
    whole = [candidate(function_call("f", args={"at": index}), index=index) for index in range(2)]
    stream = [event(response(*both)), event(response(*ends))]
    for choices in (
        [x for chunk in GEMINI.chunks(stream, n=2) for x in chunk.choices],
        GEMINI.decoded(response(*whole), n=2).choices,
    ):
        made = [(x.index, c) for x in choices for c in reply_of(x).tool_calls]
        assert [(at, c.index, json.loads(c.arguments)) for at, c in made] == [
            (0, 0, {"at": 0}),
            (1, 0, {"at": 1}),
        ]
        assert len({c.id for _, c in made}) == 2
        ends_ = [(x.index, x.finish_reason) for x in choices if x.finish_reason]
        assert ends_ == [(0, "tool_calls"), (1, "tool_calls")]


@pytest.mark.parametrize(
    "part",
    [
        {"functionCall": {"name": 5}},
        {"functionCall": {"name": "f", "args": "x"}},
        {"inlineData": {"data": 5}},
        {"text": 5},
    ],
)
def test_a_malformed_part_is_a_failure(part: Any) -> None:
    assert isinstance(GEMINI.broken(streamed([part])), VendorFailed)


def test_an_argument_that_is_half_a_character_is_no_failure() -> None:
    half = rb'{"functionCall": {"name": "f", "args": {"a": "\ud83d"}}}'
    body = json.dumps(response(candidate("HERE"))).replace('{"text": "HERE"}', half.decode())
    (choice,) = GEMINI.decoded(body.encode()).choices
    assert arguments_of(choice) == [{"a": "\N{REPLACEMENT CHARACTER}"}]


# Signatures of texts.


@pytest.mark.parametrize(
    "signed_part", [{"text": "B"}, {"text": ""}, {"text": "B", "thought": True}]
)
def test_a_texts_signature_is_the_messages(signed_part: Any) -> None:
    part = {**signed_part, "thoughtSignature": "dGV4dA=="}
    assert reply_of(answered("A", part)).extra == marked(signed("dGV4dA=="), "gemini")
    choice, _ = joined(GEMINI.chunks(streamed(["A"], [part])))
    assert reply_of(choice).extra == marked(signed("dGV4dA=="), "gemini")


def test_a_signature_comes_once_for_clients_append_texts() -> None:
    part = {"text": "", "thoughtSignature": "c2ln"}
    chunks = GEMINI.chunks(streamed(["A", part], [part], [part]))
    extras = [x.reply.extra for chunk in chunks for x in chunk.choices if x.reply]
    assert extras == [marked(signed("c2ln"), "gemini")]


# Images.

IMAGE = {"inlineData": {"mimeType": "image/png", "data": PIXEL}}
URL = {"url": f"data:image/png;base64,{PIXEL}"}


def test_images_come_with_the_message() -> None:
    whole = answered("Here:", IMAGE, IMAGE)
    parts, _ = joined(GEMINI.chunks(streamed(["Here:", IMAGE], [IMAGE])))
    for choice in (whole, parts):
        assert choice.text == "Here:"
        assert reply_of(choice).extra == {
            "images": [
                {"type": "image_url", "image_url": URL, "index": 0},
                {"type": "image_url", "image_url": URL, "index": 1},
            ]
        }


def test_an_image_of_twelve_megabytes_in_one_event_is_delivered_unchanged() -> None:
    data = "A" * (12 * 2**20)
    part = {"inlineData": {"mimeType": "image/png", "data": data}}
    choice, _ = joined(GEMINI.chunks(streamed([part]), size=2**16, model=NEW))
    ((image,),) = (reply_of(choice).extra or {}).values()
    assert image["image_url"]["url"] == f"data:image/png;base64,{data}"
    (whole,) = (reply_of(answered(part)).extra or {})["images"]
    assert whole == image


def test_images_of_thoughts_are_no_part_of_the_answer() -> None:
    assert answered({**IMAGE, "thought": True}, "A").reply is None


def test_other_data_is_kept_with_its_type() -> None:
    sound = {"inlineData": {"mimeType": "audio/L16;rate=24000", "data": "AAAA"}}
    assert reply_of(answered(sound)).extra == {
        "inline_data": [{"mime_type": "audio/L16;rate=24000", "data": "AAAA", "index": 0}]
    }


def test_a_null_beside_a_text_is_no_other_part() -> None:
    part = {"functionCall": None, "inlineData": None, "thought": None, "text": "a"}
    assert GEMINI.decoded(response(candidate(part))).choices[0].text == "a"
