"""LLM Engine's first API, as bytes."""

from typing import Any

import pytest

from app.vocabulary.errors import (
    InvalidRequest,
    UnsupportedParameter,
)
from tests.gateways.scale.llmengine_row import ROW, asked
from tests.support.vendors.llmengine import HEADERS


def test_a_bare_request_has_what_the_wire_requires() -> None:
    bare = asked()
    assert bare.path == "/v1/llm/completions-sync?model_endpoint_name=llama-3-1-8b"
    assert bare.body == {"prompt": "hi", "max_new_tokens": 16, "temperature": 1.0}
    assert {name: bare.headers[name] for name in HEADERS} == HEADERS


def test_every_parameter_that_the_wire_has_is_sent_in_its_words() -> None:
    told_all = asked(
        frequency_penalty=0.5,
        logprobs=0,
        max_tokens=0,
        presence_penalty=2,
        stop="END",
        stream=True,
        temperature=0,
        top_p=0.5,
        user="someone",  # changes no answer
    )
    assert told_all.path == "/v1/llm/completions-stream?model_endpoint_name=llama-3-1-8b"
    assert told_all.body == {
        "prompt": "hi",
        "frequency_penalty": 0.5,
        "max_new_tokens": 0,
        "presence_penalty": 2,
        "return_token_log_probs": True,
        "stop_sequences": ["END"],
        "temperature": 0,
        "top_p": 0.5,
    }


def test_an_endpoint_s_name_stays_one_name() -> None:
    encoded = ROW.gateway.encode(ROW.vendor, ROW.asks("a&b=c/d"))
    assert encoded.url.endswith("?model_endpoint_name=a%26b%3Dc%2Fd")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("best_of", 2),
        ("echo", True),
        ("logit_bias", {"1": 1}),
        ("logprobs", 1),
        ("seed", 0),
        ("suffix", "x"),
    ],
)
def test_what_the_wire_has_no_word_for_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(UnsupportedParameter) as caught:
        ROW.sent(**{name: value})
    assert caught.value.param == name


def test_fields_beyond_the_contract_are_refused_by_name() -> None:
    with pytest.raises(UnsupportedParameter) as caught:
        ROW.sent(extra={"top_k": 3})
    assert caught.value.param == "top_k"


@pytest.mark.parametrize(
    ("name", "value"),
    [("temperature", 1.01), ("frequency_penalty", -0.1), ("presence_penalty", -2)],
)
def test_a_value_out_of_the_wire_s_range_is_refused_not_bent(name: str, value: Any) -> None:
    with pytest.raises(InvalidRequest) as caught:
        ROW.sent(**{name: value})
    assert caught.value.param == name


def test_token_ids_are_refused() -> None:
    with pytest.raises(UnsupportedParameter):
        ROW.sent(prompt=(1, 2))
