"""The differences between OpenAI-compatible vendors: each entry's quirks, as bytes."""

import dataclasses
import json
from typing import Any

import pytest

from app.vocabulary.completion import Choice, Usage
from app.vocabulary.errors import (
    GatewayError,
    UnsupportedParameter,
    VendorAuthentication,
    VendorFailed,
    VendorRateLimited,
    VendorRejected,
)
from tests.gateways.openai.wire import told
from tests.gateways.rows import Row
from tests.support.vendor import DONE, Asked, body_of, choice, event, usage_of
from tests.support.vendors.base import Said
from tests.support.vendors.llmengine import LLMEngineWire
from tests.support.vendors.openai import FIREWORKS, OpenAIWire
from tests.support.vendors.self_hosted import LLAMACPP, OLLAMA, SGLANG, TGI, VLLM
from tests.support.vendors.together import TOGETHER

FIREWORKS_ROW = Row("fireworks_ai", "FIREWORKS_API_KEY", native=True)
TOGETHER_ROW = Row("together", "TOGETHER_API_KEY", native=True)
LLMENGINE_ROW = Row("llmengine", "SCALE_API_KEY", native=True)
MODEL_ZOO_ROW = Row("model_zoo", native=True)
VLLM_ROW = Row("vllm", native=True)
SGLANG_ROW = Row("sglang", native=True)
LLAMACPP_ROW = Row("llamacpp", native=True)
OLLAMA_ROW = Row("ollama", native=True)
TGI_ROW = Row("tgi", native=True)

WIRES: list[tuple[Row, OpenAIWire]] = [
    (FIREWORKS_ROW, FIREWORKS),
    (TOGETHER_ROW, TOGETHER),
    (LLMENGINE_ROW, LLMEngineWire()),
    (MODEL_ZOO_ROW, VLLM),
    (VLLM_ROW, VLLM),
    (SGLANG_ROW, SGLANG),
    (LLAMACPP_ROW, LLAMACPP),
    (OLLAMA_ROW, OLLAMA),
    (TGI_ROW, TGI),
]
EACH = pytest.mark.parametrize(("row", "wire"), WIRES, ids=[row.vendor.name for row, _ in WIRES])

#: Every parameter that any of them takes.
PARAMETERS: dict[str, Any] = {
    "echo": True,
    "frequency_penalty": 0.5,
    "logit_bias": {"50256": -100},
    "logprobs": 2,
    "max_tokens": 20,
    "n": 2,
    "presence_penalty": 0.5,
    "seed": 7,
    "stop": "END",
    "suffix": "end",
    "temperature": 0.5,
    "top_p": 0.5,
    "user": "someone",
}


def answered(row: Row, wire: OpenAIWire, said: Said, **fields: Any) -> list[bytes]:
    """Return a vendor's response to the entry's request, as packets."""
    body = row.sent(**fields)
    assert next(wire.problems(body), None) is None, body
    reply = wire.answer(Asked(wire.path, {}, body, 0), said)
    return [step for step in reply.body if isinstance(step, bytes)]


# What is sent.


@EACH
@pytest.mark.parametrize("name", PARAMETERS)
def test_a_parameter_is_refused_by_name_or_taken_by_the_vendor(
    row: Row, wire: OpenAIWire, name: str
) -> None:
    if name in row.vendor.unsupported:
        with pytest.raises(UnsupportedParameter) as caught:
            row.sent(**{name: PARAMETERS[name]})
        assert caught.value.param == name
        return
    model = "qwen-coder" if name == "suffix" else "m"
    if name == "n" and row.vendor.max_n == 1:
        return  # the request is split before
    body = row.sent(model, **{name: PARAMETERS[name]})
    assert next(wire.problems(body), None) is None
    stop = ["END"] if name == "stop" and row.vendor.quirks.get("stop_list") else None
    assert body[name] == (stop or PARAMETERS[name])


def test_fireworks_is_told_not_to_cut_a_prompt_unless_the_caller_wants_it() -> None:
    assert FIREWORKS_ROW.sent()["context_length_exceeded_behavior"] == "error"
    wish = {"context_length_exceeded_behavior": "truncate"}
    assert FIREWORKS_ROW.sent(extra=wish)["context_length_exceeded_behavior"] == "truncate"


def test_a_field_sent_with_every_request_may_be_a_name_for_the_model() -> None:
    quirks = {"sends": {"model": "model_files", "max_tokens": 5}}
    row = Row("vllm", native=True, quirks=quirks)
    assert row.sent("endpoint", max_tokens=7) == {
        "model": "model_files",
        "prompt": "hi",
        "max_tokens": 7,
    }


@pytest.mark.parametrize("stop", ["END", ("END",), ("a", "b")])
@pytest.mark.parametrize("row", [TOGETHER_ROW, TGI_ROW])
def test_stop_is_a_list_where_the_vendor_takes_no_text(row: Row, stop: Any) -> None:
    assert row.sent(stop=stop)["stop"] == ([stop] if isinstance(stop, str) else [*stop])
    assert "stop" not in row.sent()


def test_llama_cpp_is_asked_for_connections_that_end() -> None:
    encoded = LLAMACPP_ROW.gateway.encode(LLAMACPP_ROW.vendor, LLAMACPP_ROW.asks())
    assert encoded.headers["connection"] == "close"


def test_together_is_not_asked_for_usage() -> None:
    assert "stream_options" not in TOGETHER_ROW.sent(stream=True)


@pytest.mark.parametrize(
    ("row", "kinds"),
    [
        (FIREWORKS_ROW, {"list", "n", "tokens"}),
        (TOGETHER_ROW, {"n"}),
        (LLMENGINE_ROW, {"list", "n", "tokens"}),
        (MODEL_ZOO_ROW, {"list", "n", "tokens"}),
        (VLLM_ROW, {"list", "n", "tokens"}),
        (SGLANG_ROW, {"list", "n", "tokens"}),
        (LLAMACPP_ROW, {"tokens"}),
        (OLLAMA_ROW, set()),
        (TGI_ROW, set()),
    ],
)
def test_a_call_has_no_more_prompts_and_samples_than_the_vendor_takes(
    row: Row, kinds: set[str]
) -> None:
    vendor = row.vendor
    has = {"list": vendor.list_prompts, "n": vendor.max_n > 1, "tokens": vendor.token_prompts}
    assert {kind for kind, can in has.items() if can} == kinds


def test_llm_engine_gets_the_key_as_a_user_and_in_a_header_of_its_own() -> None:
    encoded = LLMENGINE_ROW.gateway.encode(LLMENGINE_ROW.vendor, LLMENGINE_ROW.asks("llama-3"))
    assert encoded.url == "https://api.spellbook.scale.com/llm-engine/v2/completions"
    assert {name: encoded.headers[name] for name in ("authorization", "x-api-key")} == {
        "authorization": "Basic c2stdGVzdDo=",
        "x-api-key": "sk-test",
    }


def test_a_vendor_that_cannot_stream_is_asked_for_a_whole_answer() -> None:
    row = Row("llmengine", "SCALE_API_KEY", native=True, quirks={"streams": False})
    asked = row.asks(stream=True, stream_options={"include_usage": True})
    encoded = row.gateway.encode(row.vendor, asked)
    assert json.loads(encoded.body) == {"model": "m", "prompt": "hi"}
    assert encoded.headers["accept"] == "application/json"


# What becomes of the answers.

SAID = Said(reasoning_tokens=0)
ANSWER = ("one two three", "stop", Usage(prompt_tokens=11, completion_tokens=7, total_tokens=18))


@EACH
@pytest.mark.parametrize("finish", ["stop", "length"])
def test_a_whole_answer_is_brought_into_form(row: Row, wire: OpenAIWire, finish: Any) -> None:
    [body] = answered(row, wire, dataclasses.replace(SAID, finish=finish))
    answer = row.decoded(body)
    (only,) = answer.choices
    assert dataclasses.replace(only, extra=None) == Choice(0, SAID.text, finish)
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


# Log probabilities.


def test_llama_cpp_s_log_probabilities_are_brought_into_form() -> None:
    [body] = answered(LLAMACPP_ROW, LLAMACPP, SAID, logprobs=1)
    [only] = LLAMACPP_ROW.decoded(body, logprobs=1).choices
    assert only.logprobs == {
        "tokens": ["one", " two", " three"],
        "token_logprobs": [-0.5] * 3,
        "top_logprobs": [{"<0>": -0.25, word: -0.5} for word in ("one", " two", " three")],
        "text_offset": [0, 3, 7],
    }


def test_llama_cpp_s_log_probabilities_come_with_the_pieces_of_a_stream() -> None:
    steps = answered(LLAMACPP_ROW, LLAMACPP, SAID, stream=True, logprobs=1)
    told = [c.logprobs for chunk in LLAMACPP_ROW.chunks(steps, logprobs=1) for c in chunk.choices]
    assert [part and (part["tokens"], part["text_offset"]) for part in told] == [
        (["one"], [0]),
        ([" two"], [3]),
        ([" three"], [7]),
        None,
    ]


def test_together_s_log_probabilities_get_their_offsets() -> None:
    [body] = answered(TOGETHER_ROW, TOGETHER, SAID, logprobs=1)
    [only] = TOGETHER_ROW.decoded(body, logprobs=1).choices
    assert only.logprobs == {
        "tokens": ["one", " two", " three"],
        "token_logprobs": [-0.5] * 3,
        "top_logprobs": None,  # one object for all tokens is none of theirs
        "text_offset": [0, 3, 7],
    }


def test_together_s_tokens_beside_the_choices_are_their_log_probabilities() -> None:
    steps = answered(TOGETHER_ROW, TOGETHER, SAID, stream=True, logprobs=0)
    found = [c.logprobs for chunk in TOGETHER_ROW.chunks(steps, logprobs=0) for c in chunk.choices]
    assert [told and (told["tokens"], told["text_offset"]) for told in found[:3]] == [
        (["one"], [0]),
        ([" two"], [3]),
        ([" three"], [7]),
    ]
    unasked = [c.logprobs for chunk in TOGETHER_ROW.chunks(steps) for c in chunk.choices]
    assert set(unasked) == {None}


@pytest.mark.parametrize(
    ("logprobs", "tokens", "top"),
    [
        ({"tokens": ["a"], "token_logprobs": [-1]}, ["a"], None),
        ({"tokens": ["a"], "token_logprobs": [None], "top_logprobs": {"a": 0}}, ["a"], [{"a": 0}]),
        ({"tokens": ["a", 5], "token_logprobs": []}, ["a"], None),
        ({"tokens": ["a"], "token_logprobs": ["x"], "top_logprobs": [7]}, ["a"], None),
        ({"content": [{"token": "a", "logprob": "x"}, 7]}, ["a"], None),
    ],
)
def test_odd_log_probabilities_say_what_they_can(logprobs: Any, tokens: Any, top: Any) -> None:
    [only] = VLLM_ROW.decoded(body_of(choice("a", "stop", logprobs=logprobs)), logprobs=1).choices
    assert only.logprobs is not None
    assert (only.logprobs["tokens"], only.logprobs["top_logprobs"]) == (tokens, top)
    assert only.logprobs["text_offset"] == [0]


@pytest.mark.parametrize("logprobs", [None, {}, [], 7, {"tokens": 7}, {"tokens": ["a"]}, "x"])
def test_log_probabilities_that_are_none_are_null(logprobs: Any) -> None:
    [only] = VLLM_ROW.decoded(body_of(choice("a", "stop", logprobs=logprobs)), logprobs=1).choices
    assert only.logprobs is None


# Errors.


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
