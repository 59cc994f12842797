"""Cohere's answers, whole and streamed: plans, calls, thinking, citations; loops of tools."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.vocabulary.chat.reply import Reply
from app.vocabulary.chat.tools import ToolCall
from app.vocabulary.completion import Choice, Usage
from app.vocabulary.errors import GatewayError, VendorFailed, VendorRejected
from tests.gateways.chat_rows import joined, message_of, reply_of
from tests.gateways.cohere.chat import (
    COHERE,
    HEADERS,
    REASONING,
    call_delta,
    call_event,
    call_start,
    event,
)
from tests.gateways.cohere.wire import delta, end, message
from tests.gateways.gemini.chat import result, tool, user
from tests.gateways.gemini.test_tools import CITY
from tests.gateways.reading import chunks_of, cut
from tests.gateways.rows import json_values
from tests.support.vendor import Asked
from tests.support.vendors.chat.cohere import CohereChat
from tests.support.vendors.chat.script import Answer, Call, Counts, Text, Thought
from tests.support.vendors.cohere import typed_event

DONE = end(finish_reason="COMPLETE")
CALLED = end(finish_reason="TOOL_CALL")


def streamed(*events: bytes, size: int | None = None) -> Choice:
    return joined(COHERE.chunks(events, size))[0]


def whole(finish: str = "COMPLETE", **fields: Any) -> Choice:
    said = message(message={"role": "assistant", **fields}, finish_reason=finish)
    (choice,) = COHERE.decoded(said).choices
    return choice


def called(call_id: str, name: str, arguments: str | None) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def test_thinking_is_the_reasoning() -> None:
    content = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "A"}]
    stream = [
        event("content-start", content={"type": "thinking", "thinking": "h"}),
        delta(thinking="m"),
        event("content-end"),
        event("content-start", content={"type": "text", "text": ""}),
        delta(text="A"),
    ]
    for choice in (whole(content=content), streamed(*stream, DONE)):
        assert (choice.text, choice.reply) == ("A", Reply("hm"))


TWO_CALLS = (
    ToolCall(0, "A", "get", '{"city": "Rome"}'),
    ToolCall(1, "B", "today", "{}"),
)


@pytest.mark.parametrize("size", [1, 7, None])
def test_a_plan_is_text_and_calls_are_counted(size: int | None) -> None:
    calls = [called("A", "get", '{"city": "Rome"}'), called("B", "today", "")]
    stream = [
        event("tool-plan-delta", tool_plan="I "),
        event("tool-plan-delta", tool_plan="look."),
        call_start(0, "A", "get"),
        call_delta(0, '{"city": '),
        call_delta(0, '"Rome"}'),
        typed_event({"type": "tool-call-end", "index": 0}),
        call_start(1, "B", "today"),
        typed_event({"type": "tool-call-end", "index": 1}),
        CALLED,
    ]
    answer = whole("TOOL_CALL", tool_plan="I look.", tool_calls=calls)
    for choice in (answer, streamed(*stream, size=size)):
        assert (choice.text, choice.finish_reason) == ("I look.", "tool_calls")
        assert reply_of(choice).tool_calls == TWO_CALLS


def test_calls_without_a_number_are_told_apart() -> None:
    stream = [
        call_start(None, "A", "get"),
        call_delta(None, '{"city": "Rome"}'),
        call_start(None, "B", "today"),
        CALLED,
    ]
    assert reply_of(streamed(*stream)).tool_calls == TWO_CALLS


def test_a_calls_number_may_be_a_float() -> None:
    stream = [
        call_start(0.0, "A", "get"),
        call_start(1.0, "B", "today"),
        call_delta(0.0, '{"city": "Rome"}'),
        CALLED,
    ]
    assert reply_of(streamed(*stream)).tool_calls == TWO_CALLS


@pytest.mark.parametrize("finish", ["TOOL_CALL", "COMPLETE"])
def test_a_choice_with_calls_ends_with_them(finish: str) -> None:
    calls = [called("A", "get", "{}")]
    assert whole(finish, tool_calls=calls).finish_reason == "tool_calls"
    stream = [call_start(0, "A", "get"), end(finish_reason=finish)]
    assert streamed(*stream).finish_reason == "tool_calls"


def test_the_limit_wins_over_a_call_that_it_cuts() -> None:
    stream = [call_start(0, "A", "get"), call_delta(0, '{"city": "Ro')]
    choice = streamed(*stream, end(finish_reason="MAX_TOKENS"))
    assert choice.finish_reason == "length"
    assert reply_of(choice).tool_calls[0].arguments == '{"city": "Ro'
    cut_short = [called("A", "get", '{"city": "Ro')]
    assert whole("MAX_TOKENS", tool_calls=cut_short).finish_reason == "length"


def test_calls_of_no_one_are_no_calls() -> None:
    assert whole("TOOL_CALL", content=[{"type": "text", "text": "A"}]).finish_reason == "stop"
    assert streamed(delta(text="A"), CALLED).finish_reason == "stop"


CITATION = {"start": 0, "end": 1, "text": "A", "sources": [{"type": "tool", "id": "c1"}]}


def test_citations_come_once_each() -> None:
    content = [{"type": "text", "text": "A"}]
    assert reply_of(whole(content=content, citations=[CITATION])).extra == {"citations": [CITATION]}
    stream = [
        delta(text="A"),
        event("citation-start", citations=CITATION),
        typed_event({"type": "citation-end", "index": 0}),
        event("citation-start", citations={**CITATION, "start": 1}),
    ]
    assert (reply_of(streamed(*stream, DONE)).extra or {})["citations"] == [
        {**CITATION, "index": 0},
        {**CITATION, "start": 1, "index": 1},
    ]


def test_events_that_hold_nothing_are_signs_of_life() -> None:
    stream = [
        event("message-start", role="assistant", content=[], tool_plan="", tool_calls=[]),
        typed_event({"type": "debug", "prompt": "x"}),
        event("content-delta", content={"type": "thinking", "thinking": None}),
        event("citation-start", citations=None),
        delta(text="A"),
    ]
    assert streamed(*stream, DONE) == Choice(0, "A", "stop")


@pytest.mark.parametrize("arguments", [5, {"a": 1}, ["x"]])
def test_arguments_that_are_no_text_are_a_failure(arguments: Any) -> None:
    call = {"id": "A", "function": {"name": "f", "arguments": arguments}}
    assert isinstance(COHERE.broken([call_event("tool-call-start", 0, call)]), VendorFailed)


def test_an_error_in_a_stream_has_its_code() -> None:
    error = COHERE.broken([end(finish_reason="ERROR", error="too many tokens: 5 over")])
    assert isinstance(error, VendorRejected)
    assert error.status == 400
    assert str(error.code) == "context_length_exceeded"


# Loops with the simulated vendor.

LOOP = (
    Answer(
        (
            Thought("First."),
            Text("I look."),
            Call("c1", "get", '{"city": "Rome"}'),
            Call("c2", "t"),
        ),
        counts=Counts(30, 12),
    ),
    Answer((Call("c3", "get", '{"city": "Oslo"}'),)),
    Answer((Thought("Done."), Text("It is warm."))),
)


@pytest.mark.parametrize("stream", [False, True])
def test_a_loop_with_reasoning_is_what_cohere_takes(stream: bool) -> None:
    wire = CohereChat()
    tools = [tool("get", parameters=CITY), tool("t")]
    messages: list[Any] = [user("Weather?")]
    told = []
    for said in LOOP:
        request = COHERE.asks(
            REASONING, messages, tools=tools, reasoning_effort="high", stream=stream
        )
        body = json.loads(COHERE.gateway.encode(COHERE.vendor, request).body)
        seen = Asked("/v2/chat", HEADERS, body, 1)
        refusal = wire.check(seen)
        assert refusal is None, refusal.body
        raw = b"".join(step for step in wire.says(seen, said).body if isinstance(step, bytes))
        chunks = chunks_of(COHERE.gateway, COHERE.vendor, request, cut(raw, 64))
        choice, usage = joined(chunks)
        told.append((choice.finish_reason, choice.text, reply_of(choice).reasoning))
        messages.append(message_of(choice))
        messages += [result(call.id or "") for call in reply_of(choice).tool_calls]
        if said is LOOP[0]:
            assert usage == Usage(prompt_tokens=30, completion_tokens=12, total_tokens=42)
            first = body
    assert told == [
        ("tool_calls", "I look.", "First."),
        ("tool_calls", "", ""),
        ("stop", "It is warm.", "Done."),
    ]
    assert body["messages"][: len(first["messages"])] == first["messages"]
    assert body["messages"][1]["content"] == [{"type": "thinking", "thinking": "First."}]


WORDS = ["content", "text", "thinking", "tool_calls", "function", "arguments", "name", "id"]
WORDS += ["citations", "tool_plan", "message", "index", "TOOL_CALL", "finish_reason", "error"]
KINDS = ["content-delta", "tool-plan-delta", "tool-call-start", "tool-call-delta", "citation-start"]


@given(st.lists(st.tuples(st.sampled_from(KINDS), json_values(*WORDS)), max_size=5))
def test_no_event_raises_anything_but_a_gateway_error(told: list[tuple[str, Any]]) -> None:
    events = [typed_event({"type": kind, "delta": {"message": said}}) for kind, said in told]
    try:
        chunks = COHERE.chunks([*events, DONE])
    except GatewayError:
        return
    assert joined(chunks)[0].finish_reason is not None


@given(json_values(*WORDS))
def test_no_message_raises_anything_but_a_gateway_error(said: Any) -> None:
    try:
        completion = COHERE.decoded(message(message=said))
    except GatewayError:
        return
    assert completion.choices[0].finish_reason is not None
