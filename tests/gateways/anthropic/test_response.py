import json
from typing import Any

import pytest

from app.vocabulary.chat.tools import ToolCall
from app.vocabulary.completion import Choice, Completion, Usage
from app.vocabulary.errors import GatewayError, VendorFailed, VendorOverloaded, VendorRejected
from tests.gateways.anthropic.chat import BUDGETS, ROW, USER, result, said, sent, tool
from tests.gateways.anthropic.wire import PING, STOP, delta, end, message, start, stream
from tests.gateways.chat_rows import joined, message_of, reply_of
from tests.support.vendors.chat.script import Answer, Call, Counts, Text, Thought, sealed, signature

WHOLE, STREAMED = "whole", "streamed"
BOTH = pytest.mark.parametrize("how", [WHOLE, STREAMED])

PARIS = Call("toolu_1", "get", '{"city": "Paris", "z": 1}')
OSLO = Call("toolu_2", "get", '{"city": "Oslo"}')
COUNTED = Usage(prompt_tokens=11, completion_tokens=7, total_tokens=18)


def read(how: str, answer: Answer, size: int | None = None, **fields: Any) -> Completion:
    """Return a reply, however it comes."""
    if how == WHOLE:
        return ROW.decoded(said(answer), **fields)
    chunks = ROW.chunks([said(answer, stream=True)], size, **fields)
    choice, usage = joined(chunks)
    return Completion(chunks[0].id, 0, chunks[0].model, (choice,), usage)


def choice_of(how: str, answer: Answer, **fields: Any) -> Choice:
    (choice,) = read(how, answer, **fields).choices
    return choice


def calls_of(choice: Choice) -> list[tuple[int, str | None, str | None, Any]]:
    """Return calls with their arguments as values."""
    return [
        (call.index, call.id, call.name, json.loads(call.arguments))
        for call in reply_of(choice).tool_calls
    ]


@BOTH
def test_calls_are_numbered_by_themselves_whatever_is_between(how: str) -> None:
    answer = Answer((Thought("T"), Text("Let me see."), PARIS, Text(" And"), OSLO))
    choice = choice_of(how, answer)
    assert calls_of(choice) == [
        (0, "toolu_1", "get", {"city": "Paris", "z": 1}),
        (1, "toolu_2", "get", {"city": "Oslo"}),
    ]
    assert (choice.text, choice.finish_reason) == ("Let me see. And", "tool_calls")


@pytest.mark.parametrize("size", [1, 7, 100, None])
def test_a_stream_is_the_same_however_it_is_cut(size: int | None) -> None:
    answer = Answer((Thought("T"), Text("one tw\u00f6"), PARIS))
    completion = read(STREAMED, answer, size)
    assert completion.choices == read(STREAMED, answer).choices
    assert calls_of(completion.choices[0])[0][3] == {"city": "Paris", "z": 1}
    assert completion.usage == COUNTED


@BOTH
def test_a_call_without_arguments_has_an_empty_object_once(how: str) -> None:
    (call,) = reply_of(choice_of(how, Answer((Call("a", "f"),)))).tool_calls
    assert call == ToolCall(0, "a", "f", "{}")


@BOTH
def test_signed_reasoning_comes_out_once_and_can_go_back(how: str) -> None:
    answer = Answer((Thought("T one"), Thought("R", redacted=True), Text("Well."), PARIS))
    choice = choice_of(how, answer)
    reply = reply_of(choice)
    blocks = [
        {"type": "thinking", "thinking": "T one", "signature": signature("T one")},
        {"type": "redacted_thinking", "data": sealed("R")},
    ]
    assert reply.reasoning == "T one"
    assert reply.extra is not None
    found = [{k: v for k, v in it.items() if k != "index"} for it in reply.extra["thinking_blocks"]]
    assert found == blocks
    back = message_of(choice)
    body = sent(
        BUDGETS,
        [USER, back, result("toolu_1")],
        tools=[tool("get")],
        reasoning_effort="low",
        max_tokens=8000,
    )
    assert body["messages"][1]["content"][:2] == blocks


def test_signed_reasoning_is_in_one_delta_no_later_than_the_end() -> None:
    chunks = ROW.chunks([said(Answer((Thought("T"), Text("a"), Thought("U"))), stream=True)])
    deltas = [choice for chunk in chunks for choice in chunk.choices]
    (at,) = [
        at for at, it in enumerate(deltas) if (reply_of(it).extra or {}).get("thinking_blocks")
    ]
    assert len(reply_of(deltas[at]).extra["thinking_blocks"]) == 2  # type: ignore[index]
    assert all(it.finish_reason is None for it in deltas[:at])


@BOTH
def test_a_call_that_the_limit_cuts_ends_by_length_and_stays_as_it_is(how: str) -> None:
    cut = Call("a", "f", '{"city":"Pa')
    choice = choice_of(how, Answer((cut,), "length", Counts(30, 32)))
    assert choice.finish_reason == "length"
    (call,) = reply_of(choice).tool_calls
    assert call.arguments == ('{"city":"Pa' if how == STREAMED else "{}")


@BOTH
@pytest.mark.parametrize("blocks", [(Text("I"),), (), (PARIS,)])
def test_a_refusal_ends_like_a_filter_and_says_why(how: str, blocks: Any) -> None:
    completion = read(how, Answer(blocks, "content_filter", refusal="Not this."))
    (choice,) = completion.choices
    assert choice.finish_reason == "content_filter"
    assert reply_of(choice).refusal == "Not this."
    assert completion.usage == COUNTED


@pytest.mark.parametrize(
    ("word", "reason"), [("model_context_window_exceeded", "length"), ("pause_turn", "length")]
)
def test_an_end_that_is_to_be_continued_is_one_by_length(word: str, reason: str) -> None:
    assert ROW.decoded(message(stop_reason=word)).choices[0].finish_reason == reason
    assert joined(ROW.chunks(stream(delta("a"), end(word), STOP)))[0].finish_reason == reason


@BOTH
def test_counts_are_complete(how: str) -> None:
    counts = Counts(1006, 10, cached=100, written=800, written_1h=300, reasoning=4, searches=2)
    assert read(how, Answer(counts=counts)).usage == Usage(
        prompt_tokens=1006,
        completion_tokens=10,
        total_tokens=1016,
        cached_tokens=100,
        cache_write_tokens=800,
        cache_write_1h_tokens=300,
        web_search_calls=2,
        reasoning_tokens=4,
    )


# Stop sequences that the vendor would refuse.


@BOTH
@pytest.mark.parametrize("stop", [["\n", "END"], "\n"])
def test_a_blank_stop_sequence_ends_text_and_calls_here(how: str, stop: Any) -> None:
    answer = Answer((Thought("a\nb"), Text("one\ntwo"), PARIS), counts=Counts(3, 9))
    completion = read(how, answer, stop=stop)
    (choice,) = completion.choices
    assert (choice.text, choice.finish_reason) == ("one", "stop")
    assert reply_of(choice).tool_calls == ()
    assert reply_of(choice).reasoning == "a\nb"
    assert reply_of(choice).extra is not None
    assert completion.usage is not None
    assert completion.usage.completion_tokens == 9


@BOTH
def test_what_only_began_a_stop_sequence_comes_before_the_call(how: str) -> None:
    choice = choice_of(how, Answer((Text("one\n"), PARIS)), stop="\n\n")
    assert (choice.text, choice.finish_reason) == ("one\n", "tool_calls")


# The vendor's own tools.

FOUND = {
    "type": "web_search_result_location",
    "url": "https://ex.org/",
    "title": None,
    "cited_text": "x",
    "encrypted_index": "e",
}
SEARCHED: list[dict[str, Any]] = [
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
    {"type": "text", "text": "Rome is ", "citations": None},
    {"type": "text", "text": "old", "citations": [FOUND, {"type": "char_location"}]},
    {"type": "text", "text": "."},
]
CITED = {"start_index": 8, "end_index": 11, "title": "", "url": "https://ex.org/"}


def events(block: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the events of a block."""
    deltas: list[dict[str, Any]] = [{"type": "input_json_delta", "partial_json": '{"query"'}]
    if block["type"] == "text":
        deltas = [{"type": "text_delta", "text": block["text"]}]
        cited = block.get("citations") or ()
        deltas += [{"type": "citations_delta", "citation": it} for it in cited]
        block = {"type": "text", "text": ""}
    return [
        {"type": "content_block_start", "index": 0, "content_block": block},
        *({"type": "content_block_delta", "index": 0, "delta": it} for it in deltas),
        {"type": "content_block_stop", "index": 0},
    ]


def test_the_vendors_own_tools_are_no_calls_and_pages_are_annotations() -> None:
    whole = ROW.decoded(message(content=SEARCHED)).choices[0]
    packets = stream(start(), *(event for block in SEARCHED for event in events(block)))
    streamed, _ = joined(ROW.chunks(packets + stream(end(), STOP)))
    for choice in (whole, streamed):
        assert (choice.text, choice.finish_reason) == ("Rome is old.", "stop")
        assert reply_of(choice).tool_calls == ()
        (note,) = (reply_of(choice).extra or {})["annotations"]
        assert (note["type"], note["url_citation"]) == ("url_citation", CITED)


# Failures.


def test_an_overload_before_the_first_content_is_one_and_after_it_ends_the_stream() -> None:
    wrong = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    begun = start(input_tokens=10, cache_read_input_tokens=2000)
    error = ROW.broken(stream(begun, wrong))
    assert isinstance(error, VendorOverloaded)
    assert error.status == 503
    reader = ROW.gateway.reader(ROW.vendor, ROW.asks("m", stream=True))
    packets = stream(begun, delta("a"), delta("b"), wrong)
    chunks = [chunk for packet in packets for chunk in reader.feed(packet)]
    with pytest.raises(VendorOverloaded) as caught:
        list(reader.close())
    assert caught.value.billable
    usage = next(chunk.usage for chunk in chunks if chunk.usage)
    assert (usage.prompt_tokens, usage.cached_tokens) == (2010, 2000)


@pytest.mark.parametrize("breaks", ["hang_up", "error"])
def test_a_reply_without_its_end_is_none(breaks: Any) -> None:
    error = ROW.broken([said(Answer((Text("one"), PARIS), breaks=breaks), stream=True)])
    assert isinstance(error, VendorFailed | VendorOverloaded)
    assert error.billable


def test_too_long_a_prompt_has_the_contracts_code_and_the_vendors_numbers() -> None:
    words = "prompt is too long: 210000 tokens > 200000 maximum"
    body = {"type": "error", "error": {"type": "invalid_request_error", "message": words}}
    raw = json.dumps(body).encode()
    whole = ROW.gateway.decode_error(ROW.vendor, 400, {}, raw)
    for error in (whole, ROW.broken(stream(body))):
        assert isinstance(error, VendorRejected)
        assert (error.status, str(error.code)) == (400, "context_length_exceeded")
        assert words in error.message


def test_arguments_without_a_call_are_a_failure() -> None:
    json_delta = {"type": "input_json_delta", "partial_json": "{}"}
    event = {"type": "content_block_delta", "index": 0, "delta": json_delta}
    assert isinstance(ROW.broken(stream(event)), VendorFailed)


@pytest.mark.parametrize("kind", ["thinking_delta", "signature_delta", "citations_delta", "new"])
def test_pieces_without_their_field_are_passed_over(kind: str) -> None:
    event = {"type": "content_block_delta", "index": 0, "delta": {"type": kind}}
    choice, _ = joined(ROW.chunks([PING, *stream(event, delta("a"), end(), STOP)]))
    assert (choice.text, choice.finish_reason) == ("a", "stop")


@pytest.mark.parametrize("content", [[{"type": "thinking"}], [{"type": "tool_use"}], []])
def test_blocks_without_their_fields_are_read_as_far_as_they_go(content: Any) -> None:
    try:
        choice = ROW.decoded(message(content=content)).choices[0]
    except GatewayError:
        return
    assert choice.text == ""
