"""The differences between OpenAI-compatible vendors' responses, as bytes."""

import dataclasses
import json
from typing import Any

import pytest

from app.vocabulary.completion import Choice, Usage
from app.vocabulary.errors import (
    GatewayError,
    VendorAuthentication,
    VendorFailed,
    VendorRateLimited,
    VendorRejected,
)
from tests.gateways.openai.compatible_responses import SAID, answered
from tests.gateways.openai.compatible_rows import (
    EACH,
    LLAMACPP_ROW,
    MODEL_ZOO_ROW,
    OLLAMA_ROW,
    SGLANG_ROW,
    TGI_ROW,
    TOGETHER_ROW,
    VLLM_ROW,
    WIRES,
)
from tests.gateways.openai.wire import told
from tests.gateways.rows import Row
from tests.support.vendor import DONE, body_of, choice, event, usage_of
from tests.support.vendors.openai import OpenAIWire
from tests.support.vendors.self_hosted import LLAMACPP, OLLAMA, SGLANG, TGI, VLLM
from tests.support.vendors.together import TOGETHER

ANSWER = ("one two three", "stop", Usage(prompt_tokens=11, completion_tokens=7, total_tokens=18))


@EACH
@pytest.mark.parametrize("finish", ["stop", "length"])
def test_a_whole_answer_is_brought_into_form(row: Row, wire: OpenAIWire, finish: Any) -> None:
    [body] = answered(row, wire, dataclasses.replace(SAID, finish=finish))
    answer = row.decoded(body)
    (only,) = answer.choices
    assert only._replace(extra=None) == Choice(0, SAID.text, finish)
    assert answer.usage == ANSWER[2]


@EACH
@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, None])
def test_a_stream_is_the_same_at_every_cut(row: Row, wire: OpenAIWire, size: int | None) -> None:
    steps = answered(row, wire, SAID, stream=True)
    alive = [part for step in steps for part in (wire.keep_alive, step)]
    assert told(row.chunks(alive, size)) == ({0: SAID.text}, {0: "stop"}, ANSWER[2])


@EACH
def test_a_stream_without_its_end_is_a_failure(row: Row, wire: OpenAIWire) -> None:
    steps = answered(row, wire, SAID, stream=True)
    error = row.broken(steps[:3])
    assert isinstance(error, VendorFailed)
    assert error.billable


@pytest.mark.parametrize("row", [row for row, _ in WIRES])
@pytest.mark.parametrize("reason", ["abort", "error", "load", "unload"])
def test_a_reason_that_is_no_success_is_none(row: Row, reason: str) -> None:
    assert isinstance(row.refusal(body_of(choice("a", reason))), VendorFailed)
    assert isinstance(row.broken([event(body_of(choice("a", reason))), DONE]), VendorFailed)


def test_together_may_say_the_reason_beside_the_choice() -> None:
    piece = {"index": 0, "text": "a", "delta": {"content": "a"}, "finish_reason": None}
    chunk = {"id": "1", "choices": [piece], "token": {"text": "a", "logprob": -1}}
    ends = {**chunk, "finish_reason": "eos", "usage": usage_of(3, 2)}
    texts, reasons, usage = told(TOGETHER_ROW.chunks([event(chunk), event(ends), DONE]))
    assert (texts, reasons) == ({0: "aa"}, {0: "stop"})
    assert usage == Usage(prompt_tokens=3, completion_tokens=2, total_tokens=5)


def test_together_counts_its_samples_by_their_place() -> None:
    [body] = answered(TOGETHER_ROW, TOGETHER, SAID, n=3)
    assert [c.index for c in TOGETHER_ROW.decoded(body, n=3).choices] == [0, 1, 2]


def test_sglang_keeps_its_reasoning_beside_the_rest() -> None:
    said = dataclasses.replace(SAID, reasoning_tokens=4)
    [body] = answered(SGLANG_ROW, SGLANG, said)
    assert SGLANG_ROW.decoded(body).usage == Usage(
        prompt_tokens=11, completion_tokens=7, total_tokens=18, reasoning_tokens=4
    )


def test_tgi_lists_choices_as_they_are_done_and_they_come_in_order() -> None:
    row = Row("tgi", native=True, list_prompts=True)
    [body] = answered(row, TGI, SAID, prompt=("a", "b", "c"))
    assert [c["index"] for c in json.loads(body)["choices"]] == [2, 1, 0]
    answer = row.decoded(body, prompt=("a", "b", "c"))
    assert [c.index for c in answer.choices] == [0, 1, 2]


def test_tgi_counts_each_prompt_by_itself_and_they_are_summed() -> None:
    row = Row("tgi", native=True, list_prompts=True)
    prompts = ("a", "b", "c")
    steps = answered(row, TGI, SAID, prompt=prompts, stream=True)
    texts, _, usage = told(row.chunks(steps, prompt=prompts))
    assert texts == dict.fromkeys(range(3), SAID.text)
    assert usage == Usage(prompt_tokens=33, completion_tokens=21, total_tokens=54)


@pytest.mark.parametrize("row", [VLLM_ROW, MODEL_ZOO_ROW, SGLANG_ROW])
def test_a_running_count_is_of_the_whole_request_at_every_moment(row: Row) -> None:
    fields: dict[str, Any] = {
        "prompt": ("a", "b"),
        "n": 2,
        "stream_options": {"continuous_usage_stats": True},
    }
    steps = answered(row, VLLM, SAID, stream=True, **fields)
    totals = [c.usage for c in row.chunks(steps, **fields) if c.usage]
    counts = [(usage.prompt_tokens, usage.completion_tokens) for usage in totals]
    assert counts[:4] == [(11, 1), (11, 2), (22, 3), (22, 4)]
    assert counts == sorted(counts)
    assert counts[-1] == (22, 28)
    without_trailer = [c.usage for c in row.chunks([*steps[:-2], DONE], **fields) if c.usage]
    assert without_trailer[-1] == totals[-1]


def test_a_count_that_runs_by_request_is_taken_as_it_is() -> None:
    row = Row("fireworks_ai", "FIREWORKS_API_KEY", native=True)
    chunks = [
        event(body_of(choice("a", None, at), usage=usage_of(5, at + 1))) for at in range(2)
    ] + [event(body_of(choice("", "stop", at))) for at in range(2)]
    assert told(row.chunks([*chunks, DONE], n=2))[2] == Usage(
        prompt_tokens=5, completion_tokens=2, total_tokens=7
    )


def test_ollama_s_zeros_are_no_count() -> None:
    steps = answered(OLLAMA_ROW, OLLAMA, SAID, stream=True)
    usages = [chunk.usage for chunk in OLLAMA_ROW.chunks(steps)]
    assert [usage for usage in usages if usage is not None] == [ANSWER[2]]


def test_a_failure_that_ollama_keeps_silent_about_is_seen() -> None:
    steps = answered(OLLAMA_ROW, OLLAMA, SAID, stream=True)
    empty = event({**body_of(choice("")), "created": 0})
    assert isinstance(OLLAMA_ROW.broken([*steps[:2], empty]), VendorFailed)


@EACH
@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("too_long", VendorRejected),
        ("bad_key", VendorAuthentication),
        ("rate_limited", VendorRateLimited),
        ("server_error", VendorFailed),
    ],
)
def test_each_vendor_s_errors_mean_what_they_mean(
    row: Row, wire: OpenAIWire, kind: Any, error: type[GatewayError]
) -> None:
    status, body = wire.errors[kind]
    found = row.error(status, body)
    assert type(found) is error
    assert found.status != 401
    if kind == "too_long":
        assert found.status == 400
        assert any(words in str(found) for words in ("too long", "context", "must have less"))


@pytest.mark.parametrize("words", ["Unsupported param: best_of", "Only no echo is supported"])
def test_what_an_older_llama_cpp_cannot_do_is_a_refusal(words: str) -> None:
    body = {"error": {"code": 500, "message": words, "type": "server_error"}}
    error = LLAMACPP_ROW.error(500, body)
    assert isinstance(error, VendorRejected)
    assert (error.status, str(error)) == (400, words)
    assert isinstance(VLLM_ROW.error(500, body), VendorFailed)


@pytest.mark.parametrize(
    ("body", "error", "status"),
    [
        (SGLANG.errors["too_long"][1], VendorRejected, 400),
        ({"error": {**SGLANG.errors["too_long"][1]}}, VendorRejected, 400),
        ({"error": {"message": "inputs too long", "http_status_code": 422}}, VendorRejected, 400),
        (TGI.errors["too_long"][1], VendorRejected, 400),
        (TGI.errors["rate_limited"][1], VendorRateLimited, 429),
        (TGI.errors["server_error"][1], VendorFailed, 502),
        (LLAMACPP.errors["too_long"][1], VendorRejected, 400),
        (
            {"error": {"status_code": 500, "content": {"error": "x", "timestamp": "t"}}},
            VendorFailed,
            502,
        ),
    ],
)
@pytest.mark.parametrize("row", [VLLM_ROW, TGI_ROW])
def test_an_error_inside_an_answer_is_one(
    row: Row, body: Any, error: type[GatewayError], status: int
) -> None:
    for found in (row.refusal(body), row.broken([event(body), DONE])):
        assert type(found) is error
        assert found.status == status
