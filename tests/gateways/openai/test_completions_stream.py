"""OpenAI's completions format: streams, errors with status 200, and arbitrary bytes."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.formats.sse import EVENT_LIMIT
from app.vocabulary.completion import Completion, CompletionRequest, Usage
from app.vocabulary.errors import (
    GatewayError,
    VendorAuthentication,
    VendorFailed,
    VendorOverloaded,
    VendorRateLimited,
    VendorRejected,
    VendorTimeout,
)
from tests.gateways.openai.wire import (
    GATEWAY,
    SECRET,
    STREAMED,
    VENDOR,
    broken,
    chunks_of,
    decoded,
    refusal,
    said,
    told,
)
from tests.support.vendor import DONE, body_of, choice, event, usage_of

COUNT = Usage(prompt_tokens=5, completion_tokens=3, total_tokens=8)
TWO = CompletionRequest(model="sim/m", prompt=("a", "b"), stream=True)

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


BROKEN: dict[str, tuple[list[bytes], CompletionRequest]] = {
    "nothing": ([], STREAMED),
    "comments alone": ([b": keep-alive\n\n" * 3], STREAMED),
    "an end mark alone": ([DONE], STREAMED),
    "usage alone": ([said(usage=usage_of(5, 3)), DONE], STREAMED),
    "no finish reason": ([said(choice("a"))], STREAMED),
    "JSON cut in the middle": ([said(choice("a")), said(choice("b", "stop"))[:-9]], STREAMED),
    "one of two never ends": ([said(choice("a", "stop", 0)), said(choice("x", None, 1))], TWO),
    "one of two never comes": ([said(choice("a", "stop", 0))], TWO),
    "an aborted choice": ([said(choice("a")), said(choice("", "abort")), DONE], STREAMED),
    "a failed choice": ([said(choice("a")), said(choice("", "error")), DONE], STREAMED),
    "an unloaded model": ([said(choice("", "load")), DONE], STREAMED),
    "no JSON": ([said(choice("a")), b"data: oops\n\n", said(choice("", "stop")), DONE], STREAMED),
    "JSON that is no object": ([b"data: 5\n\n", said(choice("a", "stop")), DONE], STREAMED),
    "an event without end": ([b"data: " + b"x" * (EVENT_LIMIT + 1)], STREAMED),
}


@pytest.mark.parametrize(("stream", "request_"), BROKEN.values(), ids=BROKEN)
def test_half_an_answer_is_never_taken_for_a_whole_one(
    stream: list[bytes], request_: CompletionRequest
) -> None:
    error = broken(stream, request_)
    assert type(error) is VendorFailed
    assert error.billable


def test_the_words_of_a_broken_stream_are_not_in_its_error() -> None:
    assert "secret" not in str(broken([b'data: {"choices":[{"text":"a secret\n\n']))


NAMED_ERRORS: dict[str, tuple[bytes, type[GatewayError], str]] = {
    "an error's body": (b'{"error":{"message":"busy","code":503}}', VendorOverloaded, "busy"),
    "the inner body alone": (b'{"message":"busy","code":503}', VendorOverloaded, "busy"),
    "a type": (b'{"type":"rate_limit_error","message":"wait"}', VendorRateLimited, "wait"),
    "a JSON string": (b'"it broke"', VendorFailed, "it broke"),
    "plain words": (b"it broke \xff", VendorFailed, "it broke"),
    "an object that says nothing": (b"{}", VendorFailed, "failed"),
    "a completion": (body_of(choice("a", "stop")).__repr__().encode(), VendorFailed, "failed"),
    "our key in plain words": (f"bad key {SECRET}".encode(), VendorFailed, "bad key ***"),
}


@pytest.mark.parametrize(("text", "kind", "words"), NAMED_ERRORS.values(), ids=NAMED_ERRORS)
@pytest.mark.parametrize("after", [b"", DONE], ids=["then the end", "then an end mark"])
def test_an_event_named_error_is_one_whatever_it_says(
    text: bytes, kind: type[GatewayError], words: str, after: bytes
) -> None:
    error = broken([said(choice("a")), b"event: error\ndata: " + text + b"\n\n", after])
    assert type(error) is kind
    assert words in str(error)
    assert SECRET not in str(error)


def test_chunks_before_an_error_are_given() -> None:
    decoder = GATEWAY.reader(VENDOR, STREAMED)
    given_: list[Completion] = []
    given_.extend(decoder.feed(said(choice("a")) + event({"error": "boom"})))
    assert told(given_)[0] == {0: "a"}
    with pytest.raises(VendorFailed, match="boom"):
        list(decoder.close())


DISGUISED: dict[str, tuple[Any, type[GatewayError], str]] = {
    "OpenAI's body": (
        {"error": {"message": "Boom.", "type": "server_error", "param": None, "code": None}},
        VendorFailed,
        "Boom.",
    ),
    "a word": ({"error": "boom"}, VendorFailed, "boom"),
    "a list": ({"error": [{"message": "boom"}]}, VendorFailed, "boom"),
    "true": ({"error": True, "message": "boom"}, VendorFailed, "boom"),
    "an empty list": ({"error": [[]], "message": "boom"}, VendorFailed, "failed"),
    "a number": ({"error": 500}, VendorFailed, "failed"),
    "with choices": (
        {**body_of(choice("half", "stop")), "error": {"message": "boom", "code": 502}},
        VendorFailed,
        "boom",
    ),
    "a code that is a status": (
        {"error": {"message": "wait", "code": 429}},
        VendorRateLimited,
        "wait",
    ),
    "a status in words": ({"error": {"message": "wait", "code": "429"}}, VendorRateLimited, "wait"),
    "a code above": ({"error": "wait", "code": 429}, VendorRateLimited, "wait"),
    "a string code and error": ({"code": "Bad", "error": "boom"}, VendorFailed, "boom"),
    "a type": ({"error": {"message": "x", "type": "invalid_request_error"}}, VendorRejected, "x"),
    "vLLM's older body": (
        {"object": "error", "message": "Too long.", "type": "BadRequestError", "code": 400},
        VendorRejected,
        "Too long.",
    ),
    "TGI's": ({"error": {"message": "x", "http_status_code": 422}}, VendorRejected, "x"),
    "llm-engine's": (
        {"request_id": "r", "error": {"status_code": 503, "content": {"error": "busy"}}},
        VendorOverloaded,
        "busy",
    ),
    "Anthropic's": (
        {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}},
        VendorOverloaded,
        "busy",
    ),
    "a timeout": ({"error": {"message": "slow", "code": 504}}, VendorTimeout, "slow"),
    "our key": (
        {"error": {"message": "x", "code": "invalid_api_key"}},
        VendorAuthentication,
        "credentials",
    ),
    "our money": ({"error": {"message": "x", "code": 402}}, VendorAuthentication, "billing"),
}


@pytest.mark.parametrize(("body", "kind", "words"), DISGUISED.values(), ids=DISGUISED)
def test_an_error_with_status_200_is_an_error_whole_and_streamed(
    body: Any, kind: type[GatewayError], words: str
) -> None:
    for error in (refusal(body), broken([event(body)]), broken([event(body), DONE])):
        assert type(error) is kind
        assert words in str(error)


@pytest.mark.parametrize("nothing", [None, "", False, {}, []], ids=str)
def test_an_error_that_is_nothing_is_none(nothing: Any) -> None:
    assert decoded({**body_of(choice("a", "stop")), "error": nothing}).choices[0].text == "a"


# Anything.

KEYS = st.sampled_from(
    [
        *("id", "object", "created", "model", "choices", "usage", "system_fingerprint"),
        *("index", "text", "finish_reason", "logprobs", "delta"),
        *("error", "message", "detail", "code", "type", "param", "status"),
        *("prompt_tokens", "completion_tokens", "prompt_tokens_details", "cached_tokens"),
    ]
) | st.text(st.characters(), max_size=5)
JUNK: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
ANSWERS = (
    JUNK
    | st.dictionaries(KEYS, JUNK, max_size=5)
    | st.fixed_dictionaries(
        {"choices": st.lists(st.dictionaries(KEYS, JUNK, max_size=4), max_size=3)},
        optional={
            "usage": st.dictionaries(KEYS, JUNK),
            "error": JUNK,
            "model": JUNK,
            "created": JUNK,
        },
    )
)


@given(ANSWERS)
def test_any_json_from_a_vendor_is_an_answer_or_a_gateway_error(body: Any) -> None:
    try:
        answer = decoded(body)
    except GatewayError as error:
        assert error.status != 401  # noqa: PT017 - either is right
        return
    assert answer.choices
    assert [c.index for c in answer.choices] == sorted({c.index for c in answer.choices})
    assert all(c.finish_reason in ("stop", "length", "content_filter") for c in answer.choices)


@given(st.lists(ANSWERS, max_size=4), st.booleans(), st.integers(1, 40))
def test_any_json_in_a_stream_gives_chunks_or_a_gateway_error(
    bodies: list[Any], ends: bool, size: int
) -> None:
    try:
        chunks = chunks_of([*map(event, bodies), DONE if ends else b""], STREAMED, size)
    except GatewayError:
        return
    assert any(told(chunks)[1].values())


@given(st.binary(max_size=300))
def test_any_bytes_in_a_stream_give_chunks_or_a_gateway_error(stream: bytes) -> None:
    try:
        chunks_of([stream])
    except GatewayError:
        return


@given(st.integers(400, 599), ANSWERS)
def test_any_json_with_an_error_status_is_a_gateway_error(status: int, body: Any) -> None:
    error = GATEWAY.decode_error(VENDOR, status, {}, json.dumps(body).encode())
    assert isinstance(error, GatewayError)
    assert error.status not in (401, 402, 403)
    assert len(str(error)) < 1200
