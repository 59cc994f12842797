import base64
import json
from typing import Any

import pytest

from app.vocabulary.chat.tools import ToolCall
from app.vocabulary.completion import Choice, Completion, Usage
from app.vocabulary.errors import VendorFailed, VendorOverloaded, VendorRateLimited
from tests.gateways.anthropic.chat import USER, result, tool
from tests.gateways.bedrock.chat import BUDGETS, ROW, said, sent
from tests.gateways.chat_rows import joined, message_of, reply_of
from tests.support.vendors.bedrock import event_frame, exception_frame
from tests.support.vendors.chat.script import Answer, Call, Counts, Text, Thought, sealed, signature

WHOLE, STREAMED = "whole", "streamed"
BOTH = pytest.mark.parametrize("how", [WHOLE, STREAMED])
PARIS = Call("tooluse_1", "get", '{"city": "Paris", "z": 1}')
OSLO = Call("tooluse_2", "get", '{"city": "Oslo"}')


def read(how: str, answer: Answer, size: int | None = None) -> Completion:
    """Return a reply, however it comes."""
    if how == WHOLE:
        return ROW.decoded(said(answer))
    chunks = ROW.chunks([said(answer, stream=True)], size)
    choice, usage = joined(chunks)
    return Completion(chunks[0].id, 0, chunks[0].model, (choice,), usage)


def choice_of(how: str, answer: Answer) -> Choice:
    (choice,) = read(how, answer).choices
    return choice


@BOTH
def test_calls_are_numbered_by_themselves(how: str) -> None:
    choice = choice_of(how, Answer((Thought("T"), Text("Let me see."), PARIS, OSLO)))
    assert (choice.text, choice.finish_reason) == ("Let me see.", "tool_calls")
    assert [
        (call.index, call.id, call.name, json.loads(call.arguments))
        for call in reply_of(choice).tool_calls
    ] == [
        (0, "tooluse_1", "get", {"city": "Paris", "z": 1}),
        (1, "tooluse_2", "get", {"city": "Oslo"}),
    ]


@pytest.mark.parametrize("size", [1, 13, 100])
def test_a_stream_is_the_same_however_it_is_cut(size: int) -> None:
    answer = Answer((Thought("T"), Text("one tw\u00f6"), PARIS))
    assert read(STREAMED, answer, size).choices == read(STREAMED, answer).choices


@BOTH
def test_a_call_without_arguments_has_an_empty_object_once(how: str) -> None:
    assert reply_of(choice_of(how, Answer((Call("a", "f"),)))).tool_calls == (
        ToolCall(0, "a", "f", "{}"),
    )


@BOTH
def test_signed_reasoning_comes_out_once_and_can_go_back(how: str) -> None:
    choice = choice_of(how, Answer((Thought("T one"), Thought("R", redacted=True), PARIS)))
    assert reply_of(choice).reasoning == "T one"
    body = sent(
        BUDGETS,
        [USER, message_of(choice), result("tooluse_1")],
        tools=[tool("get")],
        reasoning_effort="low",
    )
    data = base64.b64encode(sealed("R").encode()).decode()
    text = {"text": "T one", "signature": signature("T one")}
    assert body["messages"][1]["content"][:2] == [
        {"reasoningContent": {"reasoningText": text}},
        {"reasoningContent": {"redactedContent": data}},
    ]


@BOTH
def test_a_call_that_the_limit_cuts_ends_by_length(how: str) -> None:
    choice = choice_of(how, Answer((Call("a", "f", '{"city":"Pa'),), "length"))
    assert choice.finish_reason == "length"


@BOTH
def test_a_filter_wins_over_calls(how: str) -> None:
    assert choice_of(how, Answer((PARIS,), "content_filter")).finish_reason == "content_filter"


@BOTH
def test_counts_are_complete(how: str) -> None:
    counts = Counts(1006, 10, cached=100, written=800, written_1h=300)
    assert read(how, Answer(counts=counts)).usage == Usage(
        prompt_tokens=1006,
        completion_tokens=10,
        total_tokens=1016,
        cached_tokens=100,
        cache_write_tokens=800,
        cache_write_1h_tokens=300,
    )


def test_claudes_own_count_of_its_reasoning_is_kept() -> None:
    own = {"usage": {"output_tokens_details": {"thinking_tokens": 4}}}
    usage = {"inputTokens": 5, "outputTokens": 9, "totalTokens": 14}
    stop = {"stopReason": "end_turn", "additionalModelResponseFields": own}
    frames = [
        event_frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "a"}}),
        event_frame("messageStop", stop),
        event_frame("metadata", {"usage": usage}),
    ]
    output = {"message": {"content": [{"text": "a"}]}}
    for found in (
        joined(ROW.chunks(frames))[1],
        ROW.decoded({**stop, "usage": usage, "output": output}).usage,
    ):
        assert found is not None
        assert (found.completion_tokens, found.reasoning_tokens) == (9, 4)


# The end of a stream.

USED = {"toolUse": {"toolUseId": "a", "name": "f"}}
CALLED = event_frame("contentBlockStart", {"contentBlockIndex": 0, "start": USED})
SPOKEN = event_frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "a"}})
STOPPED = event_frame("messageStop", {"stopReason": "tool_use"})


def counted(**usage: Any) -> bytes:
    return event_frame("metadata", {"usage": usage})


def test_the_usage_comes_after_the_end_and_a_later_one_without_counts_is_none() -> None:
    counts = counted(inputTokens=30, outputTokens=12)
    choice, usage = joined(ROW.chunks([CALLED, STOPPED, counts, event_frame("metadata", {})]))
    assert choice.finish_reason == "tool_calls"
    assert usage is not None
    assert (usage.prompt_tokens, usage.completion_tokens) == (30, 12)


def test_the_usage_alone_is_no_end() -> None:
    reader = ROW.gateway.reader(ROW.vendor, ROW.asks(BUDGETS, stream=True))
    packets = [SPOKEN, counted(inputTokens=30, outputTokens=12)]
    chunks = [chunk for packet in packets for chunk in reader.feed(packet)]
    with pytest.raises(VendorFailed, match="before it was complete") as caught:
        list(reader.close())
    assert caught.value.billable
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.prompt_tokens == 30


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("throttlingException", VendorRateLimited),
        ("serviceUnavailableException", VendorOverloaded),
        ("internalServerException", VendorFailed),
        ("modelStreamErrorException", VendorFailed),
    ],
)
def test_an_exception_in_a_stream_is_an_error_of_its_class(name: str, meaning: Any) -> None:
    error = ROW.broken([SPOKEN, SPOKEN, exception_frame(name, message="No.")])
    assert isinstance(error, meaning)
    assert error.billable


def test_too_long_a_request_in_a_stream_has_the_contracts_code() -> None:
    words = "prompt is too long: 210000 tokens > 200000 maximum"
    error = ROW.broken([exception_frame("validationException", message=words)])
    assert (error.status, error.code) == (400, "context_length_exceeded")
