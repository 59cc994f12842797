"""OpenAI's completions format: streams, errors with status 200, and arbitrary bytes."""

import json

import pytest

from app.vocabulary.completion import CompletionRequest, Usage
from tests.gateways.openai.stream_parts import TWO
from tests.gateways.openai.wire import (
    STREAMED,
    chunks_of,
    said,
    told,
)
from tests.support.vendor import DONE, body_of, choice, event, usage_of

COUNT = Usage(prompt_tokens=5, completion_tokens=3, total_tokens=8)


Told = tuple[dict[int, str], dict[int, str | None], Usage | None]


STREAMS: dict[str, tuple[list[bytes], CompletionRequest, Told]] = {
    "usage in a trailer": (
        [said(choice("a")), said(choice("b", "stop")), said(usage=usage_of(5, 3)), DONE],
        STREAMED,
        ({0: "ab"}, {0: "stop"}, COUNT),
    ),
    "usage in the finish chunk": (
        [said(choice("a")), said(choice("", "length"), usage=usage_of(5, 3)), DONE],
        STREAMED,
        ({0: "a"}, {0: "length"}, COUNT),
    ),
    "running totals": (
        [
            said(choice("a"), usage=usage_of(5, 1)),
            said(choice("b"), usage=usage_of(5, 2)),
            said(choice("c", "stop"), usage=usage_of(5, 3)),
            DONE,
        ],
        STREAMED,
        ({0: "abc"}, {0: "stop"}, COUNT),
    ),
    "zeros first, then the count": (
        [
            said(choice("a"), usage=usage_of(0, 0)),
            said(choice("", "stop"), usage=usage_of(0, 0)),
            said(usage=usage_of(5, 3)),
            DONE,
        ],
        STREAMED,
        ({0: "a"}, {0: "stop"}, COUNT),
    ),
    "no usage at all": (
        [said(choice("a"), usage=None), said(choice("", "stop"), usage=None), DONE],
        STREAMED,
        ({0: "a"}, {0: "stop"}, None),
    ),
    "choices null beside the usage": (
        [said(choice("a", "stop")), event({"choices": None, "usage": usage_of(5, 3)}), DONE],
        STREAMED,
        ({0: "a"}, {0: "stop"}, COUNT),
    ),
    "no end mark": (
        [said(choice("a")), said(choice("", "stop"))],
        STREAMED,
        ({0: "a"}, {0: "stop"}, None),
    ),
    "no blank line at the end": (
        [said(choice("a")), said(choice("b", "stop")).rstrip()],
        STREAMED,
        ({0: "ab"}, {0: "stop"}, None),
    ),
    "an end mark in the text": (
        [said(choice("[DONE]")), said(choice("data: [DONE]\n\n")), said(choice("", "stop")), DONE],
        STREAMED,
        ({0: "[DONE]data: [DONE]\n\n"}, {0: "stop"}, None),
    ),
    "an end mark with a name and blanks": (
        [said(choice("a", "stop")), b"event: done\r\ndata:  [DONE] \r\n\r\n"],
        STREAMED,
        ({0: "a"}, {0: "stop"}, None),
    ),
    "anything after the end mark": (
        [
            said(choice("a", "stop")),
            DONE,
            said(choice("b")),
            b"data: {oops\n\n",
            event({"error": "x"}),
        ],
        STREAMED,
        ({0: "a"}, {0: "stop"}, None),
    ),
    "an empty first chunk": (
        [
            event(
                {"id": "", "model": "", "created": 0, "choices": [], "prompt_filter_results": [{}]}
            ),
            said(choice("a")),
            event({"choices": [{"index": 0, "content_filter_results": {}, "finish_reason": None}]}),
            said(choice("", "content_filter")),
            DONE,
        ],
        STREAMED,
        ({0: "a"}, {0: "content_filter"}, None),
    ),
    "comments, keep-alive objects and empty events": (
        [
            b": PROCESSING\n\n",
            b"data:\n\n",
            event({}),
            b"retry: 3000\n\n",
            said(choice("a")),
            b'event: ping\ndata: {"type":"ping"}\n\n',
            said(choice("", "stop")),
            event({"cost": 1}),
            DONE,
        ],
        STREAMED,
        ({0: "a"}, {0: "stop"}, None),
    ),
    "empty finish reasons meanwhile": (
        [said(choice("a", "")), said(choice("b", "")), said(choice("", "eos_token")), DONE],
        STREAMED,
        ({0: "ab"}, {0: "stop"}, None),
    ),
    "text null": (
        [said(choice(None)), said(choice("a")), said(choice(None, "stop")), DONE],  # type: ignore[arg-type]
        STREAMED,
        ({0: "a"}, {0: "stop"}, None),
    ),
    "text and delta": (
        [said(choice("a", delta={"content": "a"})), said(choice("", "stop", delta={})), DONE],
        STREAMED,
        ({0: "a"}, {0: "stop"}, None),
    ),
    "two choices interleaved": (
        [
            said(choice("a", None, 0)),
            said(choice("x", None, 1)),
            said(choice("b", "stop", 0)),
            said(choice("y", None, 1), choice("z", "length", 1)),
            said(usage=usage_of(5, 3)),
            DONE,
        ],
        TWO,
        ({0: "ab", 1: "xyz"}, {0: "stop", 1: "length"}, COUNT),
    ),
    "the second choice first": (
        [said(choice("x", "stop", 1)), said(choice("a", "stop", 0))],
        TWO,
        ({0: "a", 1: "x"}, {0: "stop", 1: "stop"}, None),
    ),
    "two choices in one chunk": (
        [said(choice("a", "stop", 0), choice("x", "stop", 1)), DONE],
        TWO,
        ({0: "a", 1: "x"}, {0: "stop", 1: "stop"}, None),
    ),
    "no finish reason, but an end mark": (
        [said(choice("a")), DONE],
        STREAMED,
        ({0: "a"}, {0: "stop"}, None),
    ),
    "one of two never ends, but there is an end mark": (
        [said(choice("a", "length", 0)), said(choice("x", None, 1)), DONE],
        TWO,
        ({0: "a", 1: "x"}, {0: "length", 1: "stop"}, None),
    ),
    "a third choice of two": (
        [said(choice("a", "stop", 0), choice("x", "stop", 1), choice("?", None, 2)), DONE],
        TWO,
        ({0: "a", 1: "x"}, {0: "stop", 1: "stop"}, None),
    ),
    "a chat stream": (
        [event({"choices": [{"index": 0, "delta": {"content": "a"}}]}), DONE],
        STREAMED,
        ({0: "a"}, {0: "stop"}, None),
    ),
    "JSON cut after the finish": (
        [said(choice("a", "stop")), b'data: {"choices":[],"usa'],
        STREAMED,
        ({0: "a"}, {0: "stop"}, None),
    ),
    "a finish reason in every event": (
        [said(choice("a", "stop")), said(choice("b", "stop")), said(choice("c", "length")), DONE],
        STREAMED,
        ({0: "abc"}, {0: "length"}, None),
    ),
    "usage after the end mark": (
        [said(choice("a", "stop")), DONE, said(usage=usage_of(5, 3))],
        STREAMED,
        ({0: "a"}, {0: "stop"}, COUNT),
    ),
    "two objects on adjacent lines": (
        [
            b"data: " + json.dumps(body_of(choice("a"))).encode() + b"\n",
            b"data: " + json.dumps(body_of(choice("b", "stop"))).encode() + b"\n\n",
        ],
        STREAMED,
        ({0: "ab"}, {0: "stop"}, None),
    ),
    "one object on several lines": (
        [b'data: {"choices":\ndata: [{"text": "a",\ndata: "finish_reason": "stop"}]}\n\n'],
        STREAMED,
        ({0: "a"}, {0: "stop"}, None),
    ),
    "characters that only look like line ends": (
        ['data: {"choices":[{"text":"a\u2028\u0085b 語","finish_reason":"stop"}]}\n\n'.encode()],
        STREAMED,
        ({0: "a\u2028\u0085b 語"}, {0: "stop"}, None),
    ),
    "half a surrogate pair in each chunk": (
        [said(choice("\ud83d")), said(choice("\ude00", "stop")), DONE],
        STREAMED,
        ({0: "\U0001f600"}, {0: "stop"}, None),
    ),
}


@pytest.mark.parametrize(("stream", "request_", "expected"), STREAMS.values(), ids=STREAMS)
def test_a_stream_tells_the_same_wherever_packets_end(
    stream: list[bytes], request_: CompletionRequest, expected: Told
) -> None:
    whole = b"".join(stream)
    for form in (whole, whole.replace(b"\n", b"\r\n"), whole.replace(b"\n", b"\r")):
        for size in range(1, len(form) + 1):
            assert told(chunks_of([form], request_, size)) == expected, f"{size} bytes"


def test_a_chunk_with_neither_choices_nor_usage_is_none() -> None:
    chunks = chunks_of(
        [event({}), said(), said(choice("a", "stop")), said(usage=usage_of(0, 0)), DONE]
    )
    assert [[c.text for c in chunk.choices] for chunk in chunks] == [["a"], [""]]
