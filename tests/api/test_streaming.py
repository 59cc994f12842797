"""`POST /v5/completions` with `stream: true`: frames, failures, silence and hang-ups."""

import http.client
import json
import threading
from functools import partial
from typing import Any

import pytest
import requests

from tests.support.gateway import Gateway, sse_events, text_of
from tests.support.processes import run_all
from tests.support.services.polling import wait_until
from tests.support.vendor import (
    CUT,
    DONE,
    Reply,
    SimulatedVendor,
    body_of,
    choice,
    event,
    json_reply,
    stream_reply,
    usage_of,
)

STREAM: dict[str, Any] = {"model": "sim/m", "prompt": "one two", "stream": True}
WITH_USAGE = {**STREAM, "stream_options": {"include_usage": True}}
END = ("done", "[DONE]")


def said(text: str, finish: str | None = None, **more: Any) -> dict[str, Any]:
    return body_of(choice(text, finish), **more)


def is_cut(response: requests.Response) -> bool:
    """Read a streamed response; tell whether it ended without HTTP's final chunk."""
    try:
        assert response.content is not None
    except requests.exceptions.ChunkedEncodingError:
        return True
    return False


def cut_events(gateway: Gateway, body: Any) -> list[tuple[str | None, Any]]:
    """Post, and return the events of an answer that must be cut."""
    host = gateway.base_url.removeprefix("http://").removesuffix("/v5")
    connection = http.client.HTTPConnection(host, timeout=60)
    connection.request("POST", "/v5/completions", json.dumps(body), {"x-api-key": gateway.api_key})
    response = connection.getresponse()
    assert response.status == 200
    with pytest.raises(http.client.IncompleteRead) as caught:
        response.read()
    connection.close()
    whole = requests.Response()
    whole._content = caught.value.partial
    return sse_events(whole)


def test_a_stream_ends_with_a_named_event_and_shows_no_usage_unasked(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    usage = body_of(usage=usage_of(5, 7))
    vendor.reply(stream_reply(said("Hel"), said("lo"), said("", "stop"), usage, DONE))
    response = gateway.post(STREAM)
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert response.headers["cache-control"] == "no-cache, no-transform"
    assert response.headers["x-accel-buffering"] == "no"
    assert "content-length" not in response.headers
    assert response.headers["x-request-id"].startswith("req_")
    events = sse_events(response)
    assert events[-1] == END
    chunks = [body for name, body in events if name is None]
    assert text_of(events) == "Hello"
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None, None, "stop"]
    assert all("usage" not in chunk for chunk in chunks)
    assert {chunk["object"] for chunk in chunks} == {"text_completion"}
    assert vendor.asked[0].body["stream_options"] == {"include_usage": True}
    recorded = gateway.event()
    assert (recorded.status, recorded.source, recorded.stream) == ("completed", "vendor", True)
    assert (recorded.prompt_tokens, recorded.completion_tokens) == (5, 7)
    assert recorded.first_token_ms is not None
    assert recorded.first_token_ms <= recorded.duration_ms


USAGES: dict[str, list[Any]] = {
    "in a chunk of its own": [said("a"), said("", "stop"), body_of(usage=usage_of(5, 3))],
    "in the last chunk": [said("a"), said("", "stop", usage=usage_of(5, 3))],
    "as a running total": [
        said("a", usage=usage_of(5, 1)),
        said("b", usage=usage_of(5, 2)),
        said("", "stop", usage=usage_of(5, 3)),
    ],
    "after zeros": [
        said("a", usage=usage_of(0, 0)),
        said("", "stop", usage=usage_of(0, 0)),
        body_of(usage=usage_of(5, 3)),
    ],
}


@pytest.mark.parametrize("name", USAGES)
@pytest.mark.parametrize("end", [[DONE], []])
def test_asked_for_usage_comes_once_at_the_end_wherever_the_vendor_keeps_it(
    gateway: Gateway, vendor: SimulatedVendor, name: str, end: list[bytes]
) -> None:
    vendor.reply(stream_reply(*USAGES[name], *end))
    events = sse_events(gateway.post(WITH_USAGE))
    assert events[-1] == END
    *chunks, last = [body for kind, body in events if kind is None]
    assert last["choices"] == []
    assert last["usage"]["total_tokens"] == 8
    assert last["id"] == chunks[0]["id"]
    assert [chunk["usage"] for chunk in chunks] == [None] * len(chunks)
    assert all(chunk["choices"] for chunk in chunks)
    recorded = gateway.event()
    assert (recorded.source, recorded.prompt_tokens, recorded.completion_tokens) == ("vendor", 5, 3)


def test_running_totals_reach_a_caller_that_asks_for_them(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    vendor.reply(stream_reply(*USAGES["as a running total"], DONE))
    options = {"include_usage": True, "continuous_usage_stats": True}
    events = sse_events(gateway.post({**STREAM, "stream_options": options}))
    totals = [body["usage"]["total_tokens"] for kind, body in events if kind is None]
    assert totals == [6, 7, 8, 8]
    assert vendor.asked[0].body["stream_options"] == options


def test_a_stream_without_usage_is_counted_and_marked(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    vendor.reply(stream_reply(said("Hello there,"), said(" world."), said("", "stop"), DONE))
    events = sse_events(gateway.post({**WITH_USAGE, "prompt": "Say hello to the world"}))
    assert events[-2][1]["usage"]["total_tokens"] == 10
    recorded = gateway.event()
    assert (recorded.source, recorded.total_tokens) == ("estimated", 10)


@pytest.mark.parametrize("packet", [1, 2, 3, 5, 17, None])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_a_vendors_bytes_may_be_cut_anywhere_and_its_lines_end_in_any_way(
    gateway: Gateway, vendor: SimulatedVendor, packet: int | None, end: bytes
) -> None:
    text = "caf\u00e9 \u4f60\u597d \U0001f600 \u2028\u2029\u0085\x0b\x0c [DONE] \\n"
    frames = [said(text), said("", "stop", usage=usage_of(1, 2))]
    stream = b": hello\n\nretry: 3000\n\nid: 7\n\n" + b"".join(
        f"data:{json.dumps(frame, ensure_ascii=False)}\n\n".encode() for frame in frames
    )
    vendor.reply(stream_reply((stream + DONE).replace(b"\n", end), packet=packet))
    response = gateway.post(STREAM)
    events = sse_events(response)
    assert text_of(events) == text
    assert events[-1] == END
    assert b"retry:" not in response.content
    assert b"id:" not in response.content
    assert gateway.event().total_tokens == 3


def test_interleaved_choices_keep_their_index(gateway: Gateway, vendor: SimulatedVendor) -> None:
    vendor.default = lambda _: stream_reply(
        *[body_of(choice(f"{index}{step} ", None, index)) for step in "abc" for index in range(4)],
        *[body_of(choice("", "stop", index)) for index in range(4)],
        DONE,
    )
    events = sse_events(gateway.post({**STREAM, "prompt": ["x", "y"], "n": 2}))
    assert [text_of(events, index) for index in range(4)] == [
        f"{index}a {index}b {index}c " for index in range(4)
    ]


FAILURES: dict[str, list[Any]] = {
    "the connection breaks": [said("one two three"), CUT],
    "it ends in a frame": [said("one two three"), event(said("half"))[:30]],
    "it ends without a finish reason": [said("one two three")],
    "an error": [said("one two three"), {"error": {"message": "burnt"}}, DONE],
    "an error event": [said("one two three"), b'event: error\ndata: {"message": "burnt"}\n\n'],
    "an error as finish reason": [said("one two three"), said("", "error"), DONE],
    "nonsense": [said("one two three"), b"data: <html>\n\n", DONE],
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_in_the_middle_is_told_and_the_connection_is_cut(
    gateway: Gateway, vendor: SimulatedVendor, name: str
) -> None:
    vendor.reply(stream_reply(*FAILURES[name]))
    *_, (kind, body) = events = cut_events(gateway, STREAM)
    assert kind == "error"
    assert body["error"]["type"] == "vendor_error"
    assert body["error"]["code"] == "vendor_failed"
    assert text_of(events).startswith("one two three")
    recorded = gateway.event()
    assert (recorded.status, recorded.source) == ("truncated", "estimated")
    assert recorded.prompt_tokens == 2
    assert recorded.completion_tokens >= 3


def test_a_failure_before_the_first_chunk_keeps_its_status(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    error = {"error": {"message": "too long", "type": "invalid_request_error", "code": 400}}
    vendor.reply(stream_reply(error, DONE))
    response = gateway.post(STREAM)
    assert response.status_code == 400
    assert response.json()["error"]["message"] == "too long"
    assert gateway.event().status == "failed"


def test_a_vendor_that_answers_whole_where_a_stream_was_asked_for_is_streamed_on(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    vendor.reply(json_reply(said("whole", "stop", usage=usage_of(1, 2))))
    events = sse_events(gateway.post(WITH_USAGE))
    assert text_of(events) == "whole"
    assert events[-2][1]["usage"]["total_tokens"] == 3
    assert events[-1] == END


def test_silence_before_the_first_chunk_is_kept_alive_under_status_200(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    speak = threading.Event()
    comments = [b": PROCESSING\n\n", b"\n\n"] * 3
    vendor.reply(stream_reply(*comments, speak, said("late", "stop", usage=usage_of(1, 1)), DONE))
    with gateway.post(STREAM, stream=True) as response:
        assert response.status_code == 200
        lines = response.iter_lines()
        assert [next(lines) for _ in range(3)] == [b": keep-alive", b"", b": keep-alive"]
        speak.set()
        rest = b"\n".join(lines)
    assert b"PROCESSING" not in rest
    assert b'"late"' in rest
    assert rest.rstrip().endswith(b"event: done\ndata: [DONE]")
    assert gateway.event().status == "completed"


@pytest.mark.parametrize("bytes_meanwhile", [[], [b": ping\n\n", 0.05] * 100])
def test_keep_alives_do_not_count_as_life(
    gateway: Gateway, vendor: SimulatedVendor, bytes_meanwhile: list[Any]
) -> None:
    steps = [said("one"), *bytes_meanwhile, threading.Event()]
    vendor.reply(stream_reply(*steps))
    *_, (kind, body) = cut_events(gateway, {**STREAM, "model": "quick/m"})
    assert kind == "error"
    assert body["error"]["code"] == "vendor_timeout"
    assert gateway.event().status == "truncated"


def test_a_caller_that_hangs_up_stops_the_vendor_and_is_recorded_once(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    pieces = [piece for at in range(1000) for piece in (said(f"w{at} "), 0.01)]
    vendor.reply(stream_reply(*pieces))
    with gateway.post(STREAM, stream=True) as response:
        next(response.iter_content(10))
    wait_until(lambda: vendor.hang_ups)
    recorded = gateway.event()
    assert (recorded.status, recorded.source) == ("disconnected", "estimated")
    assert recorded.prompt_tokens == 2
    assert 0 < recorded.completion_tokens < 3000


def test_a_vendor_is_read_to_its_end_and_its_count_recorded(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    go_on = threading.Event()
    vendor.reply(
        stream_reply(
            *[said("word ")] * 200,
            go_on,
            *[said("word "), 0.01] * 50,
            said("", "stop"),
            body_of(usage=usage_of(5, 250)),
            DONE,
        )
    )
    with gateway.post({**STREAM, "model": "drain/m"}, stream=True) as response:
        next(response.iter_content(10))
    go_on.set()
    recorded = gateway.event()
    assert (recorded.status, recorded.source) == ("disconnected", "read")
    assert recorded.total_tokens == 255
    assert vendor.hang_ups == []


def test_a_caller_that_leaves_after_the_last_text_is_charged_what_the_vendor_counts(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    gone = threading.Event()
    usage = body_of(usage=usage_of(5, 7))
    vendor.reply(stream_reply(said("all", "stop"), gone, usage, DONE))
    with gateway.post(STREAM, stream=True) as response:
        lines = response.iter_lines()
        assert b'"all"' in next(lines)
    gone.set()
    recorded = gateway.event()
    assert (recorded.source, recorded.total_tokens) == ("vendor", 12)


def test_a_slow_caller_slows_its_vendor_and_loses_nothing(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    """What nobody reads is not asked for: it stays with the vendor, and not in our memory."""
    big, count, sent = "x" * 50_000, 800, list[int]()
    pieces = [step for at in range(count) for step in (said(big), partial(sent.append, at))]
    vendor.reply(stream_reply(*pieces, said("", "stop"), DONE))
    with gateway.post(STREAM, stream=True) as response:
        received = response.iter_content(1 << 16)
        begun = next(received)
        wait_until(lambda: sent)
        seen: list[int] = []

        def stands_still() -> bool:
            seen.append(len(sent))
            return len(set(seen[-20:])) == 1 and len(seen) > 20

        wait_until(stands_still, every_s=0.05)
        assert len(sent) < count
        content = begun + b"".join(received)
    assert content.count(big.encode()) == count
    assert gateway.event().status == "completed"


def test_each_stream_gets_its_own_chunks_in_order(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    def numbered(asked: Any) -> Reply:
        name = asked.body["prompt"]
        chunks = [said(f"{name}:{at};") for at in range(100)]
        return stream_reply(*chunks, said("", "stop", usage=usage_of(1, 100)), DONE)

    vendor.default = numbered
    texts: dict[str, str] = {}

    def ask(name: str) -> None:
        texts[name] = text_of(sse_events(gateway.post({**STREAM, "prompt": name})))

    run_all(threading.Thread(target=ask, args=(f"s{at}",)) for at in range(20))
    assert texts == {f"s{at}": "".join(f"s{at}:{step};" for step in range(100)) for at in range(20)}
    assert sum(recorded.completion_tokens for recorded in gateway.events(20)) == 2000
