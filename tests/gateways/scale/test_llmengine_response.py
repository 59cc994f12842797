"""LLM Engine's first API: its responses, as bytes."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.vocabulary.completion import Choice, Usage
from app.vocabulary.errors import (
    GatewayError,
    VendorAuthentication,
    VendorFailed,
    VendorRateLimited,
    VendorRejected,
)
from tests.gateways.rows import Row, bodies, json_values, told
from tests.gateways.scale.llmengine_row import ROW, WIRE, asked
from tests.support.vendor import Reply
from tests.support.vendors.base import Said
from tests.support.vendors.llmengine import ERRORS, PING

SAID = Said()


USAGE = Usage(prompt_tokens=11, completion_tokens=7, total_tokens=18)


WORDS = (
    "request_id",
    "output",
    "text",
    "finished",
    "num_prompt_tokens",
    "num_completion_tokens",
    "tokens",
    "token",
    "log_prob",
    "error",
    "status_code",
    "content",
    "detail",
)


def answered(said: Said = SAID, **fields: Any) -> list[bytes]:
    """Return the vendor's response, as packets."""
    reply: Reply = WIRE.check(asked(**fields)) or WIRE.answer(asked(**fields), said)
    assert reply.status == 200
    return [step for step in reply.body if isinstance(step, bytes)]


@pytest.mark.parametrize(
    ("max_tokens", "generated", "finish"),
    [(7, 7, "length"), (8, 7, "stop"), (None, 16, "length"), (None, 15, "stop"), (0, 0, "length")],
)
@pytest.mark.parametrize("stream", [False, True])
def test_why_an_answer_ended_follows_from_its_length(
    max_tokens: int | None, generated: int, finish: str, stream: bool
) -> None:
    said = Said(completion_tokens=generated)
    fields: dict[str, Any] = {"max_tokens": max_tokens, "stream": stream}
    steps = answered(said, **fields)
    if stream:
        assert told(ROW.chunks(steps, max_tokens=max_tokens))[1] == [finish]
    else:
        assert ROW.decoded(steps[0], **fields).choices[0].finish_reason == finish


def test_a_whole_answer_is_brought_into_form() -> None:
    [body] = answered(logprobs=0)
    answer = ROW.decoded(body, logprobs=0)
    logprobs = {
        "tokens": ["one", " two", " three"],
        "token_logprobs": [-0.5] * 3,
        "top_logprobs": None,
        "text_offset": [0, 3, 7],
    }
    assert answer.choices == (Choice(0, SAID.text, "stop", logprobs),)
    assert (answer.id, answer.model, answer.usage) == ("1f", "m", USAGE)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 17, None])
def test_a_stream_is_the_same_at_every_cut(size: int | None) -> None:
    steps = [part for step in answered(stream=True) for part in (PING, step)]
    assert told(ROW.chunks(steps, size)) == (SAID.text, ["stop"], USAGE)


def test_each_piece_of_a_stream_has_its_token() -> None:
    chunks = ROW.chunks(answered(stream=True, logprobs=0), logprobs=0)
    found = [c.logprobs for chunk in chunks for c in chunk.choices if c.logprobs]
    assert [told_one["text_offset"] for told_one in found] == [[0], [3], [7]]


@pytest.mark.parametrize("kept", [0, 1, 3])
def test_a_stream_that_never_says_it_is_finished_is_a_failure(kept: int) -> None:
    error = ROW.broken(answered(stream=True)[:kept])
    assert isinstance(error, VendorFailed)
    assert error.billable


def test_a_vendor_that_never_says_so_can_be_asked_for_a_whole_answer() -> None:
    row = Row("llmengine_v1", "SCALE_API_KEY", native=True, quirks={"streams": False})
    encoded = row.gateway.encode(row.vendor, row.asks(stream=True))
    assert "/completions-sync?" in encoded.url
    assert encoded.headers["accept"] == "application/json"


@pytest.mark.parametrize("missing", ["num_prompt_tokens", "num_completion_tokens"])
@pytest.mark.parametrize("value", [None, "x", -1, "missing"])
def test_half_a_count_leaves_the_other_half_open(missing: str, value: Any) -> None:
    output = {"text": "a", "num_prompt_tokens": 3, "num_completion_tokens": 2, missing: value}
    if value == "missing":
        del output[missing]
    usage = ROW.decoded({"request_id": None, "output": output}).usage
    assert usage is not None
    assert usage.lacks == missing.split("_")[1]


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        None,
        "x",
        {"output": None},
        {"output": {"text": None}},
        {"output": {"num_completion_tokens": 3}},
        b"<html>",
        b"",
    ],
    ids=str,
)
def test_an_answer_that_is_none_is_a_failure(body: Any) -> None:
    assert isinstance(ROW.refusal(body), VendorFailed)


def test_empty_pieces_are_a_sign_of_work_alone() -> None:
    steps = answered(stream=True)
    empty = b'data: {"request_id": "1f", "output": null, "error": null}\r\n\r\n'
    assert told(ROW.chunks([empty, *steps])) == (SAID.text, ["stop"], USAGE)


@pytest.mark.parametrize(
    ("status", "error"),
    [(400, VendorRejected), (429, VendorRateLimited), (500, VendorFailed), (None, VendorFailed)],
)
def test_an_error_in_a_stream_is_what_its_status_says(
    status: int | None, error: type[GatewayError]
) -> None:
    content = {"error": "Out of memory.", "timestamp": "2026-11-29 10:00:00 PST"}
    frame = json.dumps({"request_id": "1f", "error": {"status_code": status, "content": content}})
    found = ROW.broken([*answered(stream=True)[:2], f"data: {frame}\r\n\r\n".encode()])
    assert type(found) is error
    assert "Out of memory." in str(found)


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("too_long", VendorRejected),
        ("bad_key", VendorAuthentication),
        ("rate_limited", VendorRateLimited),
        ("server_error", VendorFailed),
    ],
)
def test_each_error_means_what_it_means(kind: Any, error: type[GatewayError]) -> None:
    assert type(ROW.error(*ERRORS[kind])) is error


def test_a_refused_body_is_the_caller_s_to_mend() -> None:
    detail = [{"loc": ["body", "prompt"], "msg": "too long", "type": "value_error"}]
    error = ROW.error(422, {"detail": detail})
    assert (error.status, str(error)) == (400, "too long")


@given(bodies(*WORDS))
def test_any_answer_is_one_or_a_gateway_error(body: bytes) -> None:
    try:
        answer = ROW.decoded(body)
    except GatewayError as error:
        assert error.status != 401  # noqa: PT017 - either is right
        return
    assert answer.choices[0].finish_reason in ("stop", "length")


@given(st.lists(json_values(*WORDS), max_size=4), st.integers(1, 40))
def test_any_stream_gives_chunks_or_a_gateway_error(values: list[Any], size: int) -> None:
    frames = [f"data: {json.dumps(value)}\r\n\r\n".encode() for value in values]
    try:
        chunks = ROW.chunks(frames, size)
    except GatewayError:
        return
    assert any(c.finish_reason for chunk in chunks for c in chunk.choices)


@pytest.mark.parametrize(
    ("told", "reason"), [({}, "stop"), ({"num_completion_tokens": 1}, "length")]
)
def test_an_answer_whose_length_is_not_told_ended_by_itself(
    told: dict[str, int], reason: str
) -> None:
    answer = {"request_id": None, "output": {"text": "a", **told}}
    assert ROW.decoded(answer, max_tokens=1).choices[0].finish_reason == reason
