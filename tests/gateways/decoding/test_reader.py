"""Reading one response: packets in, chunks out, and a judgement at the end."""

import json
from typing import Any

import pytest

from app.gateways.decoding import reader as module
from app.gateways.decoding.reader import ResponseReader
from app.gateways.openai.response import OpenAIDecoder
from app.vendors.vendor import Vendor
from app.vocabulary.completion import Completion, CompletionRequest, Usage
from app.vocabulary.errors import GatewayError, VendorFailed, VendorTimeout
from tests.gateways.reading import cut

VENDOR = Vendor(name="sim", gateway="openai", base_url="http://v.invalid")
USAGE = {"prompt_tokens": 2, "completion_tokens": 3, "total_tokens": 5}
COUNTED = Usage(prompt_tokens=2, completion_tokens=3, total_tokens=5)
DONE = b"data: [DONE]\n\n"


def reader_of(**fields: Any) -> ResponseReader:
    """Return the reader of a response to this request."""
    asked: dict[str, Any] = {"model": "sim/m", "prompt": "p", "stream": True}
    request = CompletionRequest(**(asked | fields))
    return ResponseReader(OpenAIDecoder(VENDOR, request))


def body(text: str = "", finish: str | None = None, **more: Any) -> dict[str, Any]:
    """Return an object with one choice."""
    choice = {"index": 0, "text": text, "finish_reason": finish}
    return {"id": "c", "created": 1, "model": "m", "choices": [choice], **more}


def event(value: dict[str, Any], name: str = "") -> bytes:
    """Return an object as a server-sent event."""
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + json.dumps(value).encode() + b"\n\n"


def read(reader: ResponseReader, stream: bytes, size: int | None = None) -> list[Completion]:
    """Return the chunks of a whole stream."""
    chunks = [chunk for packet in cut(stream, size) for chunk in reader.feed(packet)]
    return [*chunks, *reader.close()]


def text_of(chunks: list[Completion]) -> str:
    return "".join(choice.text for chunk in chunks for choice in chunk.choices)


def ends_of(chunks: list[Completion]) -> list[str]:
    reasons = [choice.finish_reason for chunk in chunks for choice in chunk.choices]
    return [reason for reason in reasons if reason is not None]


@pytest.mark.parametrize("size", [None, 1, 10])
def test_a_stream_is_its_texts_then_one_end_and_its_usage(size: int | None) -> None:
    stream = event(body("Hel")) + event(body("lo", "stop")) + event(body(usage=USAGE)) + DONE
    chunks = read(reader_of(), stream, size)
    assert (text_of(chunks), ends_of(chunks)) == ("Hello", ["stop"])
    assert [chunk.usage for chunk in chunks if chunk.usage] == [COUNTED]
    assert chunks[-1].choices[0].finish_reason == "stop"  # after the last text


@pytest.mark.parametrize("streamed", [True, False])
def test_a_whole_object_is_one_completion_though_a_stream_was_requested(streamed: bool) -> None:
    reader = reader_of(stream=streamed)
    text = json.dumps(body("Hi", "length", usage=USAGE)).encode()
    chunks = list(reader.feed(text))
    assert (chunks, reader.is_whole) == ([], True)
    (completion,) = reader.close()
    assert (text_of([completion]), ends_of([completion])) == ("Hi", ["length"])
    assert completion.usage == COUNTED


def test_json_is_not_whole_before_its_last_bracket() -> None:
    reader = reader_of()
    text = json.dumps(body("Hi", "stop")).encode()
    for at in range(len(text) - 1):
        list(reader.feed(text[at : at + 1]))
        assert not reader.is_whole
    list(reader.feed(text[-1:]))
    assert reader.is_whole


def test_a_stream_is_whole_at_its_end_mark_or_once_all_has_come() -> None:
    by_mark, by_count = reader_of(), reader_of()
    list(by_mark.feed(event(body("a"))))
    assert not by_mark.is_whole
    list(by_mark.feed(DONE))
    assert (by_mark.is_whole, by_mark.is_over) == (True, True)
    list(by_count.feed(event(body("a", "stop"))))
    assert (by_count.has_ended, by_count.is_whole) == (True, False)
    list(by_count.feed(event(body(usage=USAGE))))
    assert (by_count.is_whole, by_count.is_over) == (True, False)


def test_nothing_but_usage_counts_after_the_end_mark() -> None:
    stream = event(body("a", "stop")) + DONE + event(body("b")) + event(body("c", usage=USAGE))
    chunks = read(reader_of(), stream)
    assert text_of(chunks) == "a"
    assert [chunk.usage for chunk in chunks if chunk.usage] == [COUNTED]


def test_a_template_does_not_outlive_the_end_mark() -> None:
    stream = event(body("a")) + event(body("b")) + DONE + event(body("c"))
    assert text_of(read(reader_of(), stream)) == "ab"
    assert text_of(read(reader_of(), stream, 7)) == "ab"


def test_an_error_after_text_is_raised_at_the_end_with_the_usage_beside_it() -> None:
    reader = reader_of()
    stream = event(body("a")) + event({"error": {"message": "No."}, "usage": USAGE}) + DONE
    chunks = list(reader.feed(stream))
    assert text_of(chunks) == "a"
    assert chunks[-1].usage == COUNTED
    with pytest.raises(VendorFailed, match="No\\.") as caught:
        list(reader.close())
    assert caught.value.billable


def test_an_error_that_comes_first_has_cost_nothing() -> None:
    reader = reader_of()
    list(reader.feed(event({"message": "Busy.", "code": 503}, "error")))
    assert reader.is_over
    with pytest.raises(GatewayError) as caught:
        list(reader.close())
    assert not caught.value.billable


def test_a_broken_connection_is_no_failure_of_a_response_that_was_complete() -> None:
    reader, broken = reader_of(), VendorTimeout("too long")
    list(reader.feed(event(body("a", "stop"))))
    assert ends_of(list(reader.close(broken))) == ["stop"]
    unfinished = reader_of()
    list(unfinished.feed(event(body("a"))))
    with pytest.raises(VendorTimeout):
        list(unfinished.close(broken))


@pytest.mark.parametrize("stream", [b"", event(body("a")), b"data: \n\n"])
def test_a_stream_that_ends_early_is_a_failure(stream: bytes) -> None:
    reader = reader_of()
    list(reader.feed(stream))
    with pytest.raises(VendorFailed, match="ended its response before it was complete"):
        list(reader.close())


def test_choices_that_did_not_come_are_missing_and_others_are_surplus() -> None:
    reader = reader_of(n=3)
    ended = [{"index": at, "text": "a", "finish_reason": "stop"} for at in (0, 2)]
    read(reader, event(body() | {"choices": ended}) + DONE)
    assert (reader.count, reader.missing, reader.surplus) == (3, [1], 0)
    other = reader_of()
    read(other, event(body() | {"choices": [*ended, ended[0] | {"index": 1}]}) + DONE)
    assert other.surplus == 2


def test_the_usage_in_an_error_body_is_found() -> None:
    assert reader_of().usage_in(json.dumps({"error": "x", "usage": USAGE}).encode()) == COUNTED
    assert reader_of().usage_in(b"<html>") is None
    assert reader_of().usage_in(b"{}") is None


def test_only_what_is_held_back_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RESPONSE_LIMIT", 1000)
    stream = event(body("x" * 100)) * 20 + event(body("", "stop")) + DONE
    assert len(text_of(read(reader_of(), stream, 500))) == 2000
    for reader, packet in ((reader_of(), b"["), (reader_of(stream=False), b": comment\n\n")):
        list(reader.feed(packet))
        list(reader.feed(b" " * 1000))
        with pytest.raises(VendorFailed, match="too large a response"):
            list(reader.close())


def test_a_stream_may_be_one_json_array() -> None:
    text = json.dumps([body("a"), body("b", "stop", usage=USAGE)]).encode()
    chunks = read(reader_of(), text, 9)
    assert (text_of(chunks), ends_of(chunks)) == ("ab", ["stop"])
