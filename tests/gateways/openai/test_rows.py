"""The differences between OpenAI-compatible vendors: each entry's quirks, as bytes."""

import json
from typing import Any

import pytest

from app.transport.auth.schemes import authenticated
from app.vocabulary.errors import (
    UnsupportedParameter,
)
from tests.gateways.openai.compatible_rows import (
    EACH,
    FIREWORKS_ROW,
    LLAMACPP_ROW,
    LLMENGINE_ROW,
    MODEL_ZOO_ROW,
    OLLAMA_ROW,
    SGLANG_ROW,
    TGI_ROW,
    TOGETHER_ROW,
    VLLM_ROW,
)
from tests.gateways.rows import Row
from tests.support.vendors.openai import OpenAIWire

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


@EACH
@pytest.mark.parametrize("name", PARAMETERS)
def test_a_parameter_is_refused_by_name_or_taken_by_the_vendor(
    row: Row, wire: OpenAIWire, name: str
) -> None:
    if name in {*row.vendor.unsupported, *row.vendor.quirks.get("unsupported", ())}:
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
    headers = authenticated(LLMENGINE_ROW.vendor, encoded)
    assert {name: headers[name] for name in ("authorization", "x-api-key")} == {
        "authorization": "Basic c2stdGVzdDo=",
        "x-api-key": "sk-test",
    }


def test_a_vendor_that_cannot_stream_is_asked_for_a_whole_answer() -> None:
    row = Row("llmengine", "SCALE_API_KEY", native=True, quirks={"streams": False})
    asked = row.asks(stream=True, stream_options={"include_usage": True})
    encoded = row.gateway.encode(row.vendor, asked)
    assert json.loads(encoded.body) == {"model": "m", "prompt": "hi"}
    assert encoded.headers["accept"] == "application/json"
