"""OpenAI's completions format: errors with status 200, and arbitrary bytes."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.vocabulary.completion import Completion
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
from tests.support.vendor import DONE, body_of, choice, event

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
