"""OpenAI's completions format: requests, and whole responses."""

import json
from typing import Any

import pytest

from app.transport.auth.schemes import authenticated
from app.vocabulary.completion import CompletionRequest
from app.vocabulary.errors import (
    UnsupportedParameter,
)
from tests.gateways.openai.wire import (
    ASKED,
    GATEWAY,
    SECRET,
    STREAMED,
    VENDOR,
    sent,
    vendor,
)


def test_a_bare_request_carries_model_and_prompt_and_nothing_else() -> None:
    assert sent(ASKED) == {"model": "m", "prompt": "hi"}


EVERYTHING: dict[str, Any] = {
    "best_of": 2,
    "echo": True,
    "frequency_penalty": -0.5,
    "logit_bias": {"50256": -100},
    "logprobs": 5,
    "max_tokens": 7,
    "n": 2,
    "presence_penalty": 2,
    "seed": -(2**63),
    "stop": ("a", "b"),
    "suffix": "end",
    "temperature": 1.5,
    "top_p": 0.25,
    "user": "someone",
}


ZEROS: dict[str, Any] = {
    "echo": False,
    "frequency_penalty": 0,
    "logit_bias": {},
    "logprobs": 0,
    "max_tokens": 0,
    "presence_penalty": 0.0,
    "seed": 0,
    "suffix": "",
    "temperature": 0,
    "top_p": 0,
    "user": "",
}


@pytest.mark.parametrize("set_", [EVERYTHING, ZEROS], ids=["everything", "zeros"])
def test_what_the_caller_set_is_sent_as_it_is(set_: dict[str, Any]) -> None:
    assert sent(CompletionRequest(model="sim/m", prompt="hi", **set_)) == json.loads(
        json.dumps({"model": "m", "prompt": "hi", **set_})
    )


@pytest.mark.parametrize("name", EVERYTHING)
def test_one_parameter_alone_brings_no_other_with_it(name: str) -> None:
    request = CompletionRequest(model="sim/m", prompt="hi", **{name: EVERYTHING[name]})
    assert set(sent(request)) == {"model", "prompt", name}


def test_fields_beyond_the_contract_are_sent_as_they_are() -> None:
    extra = {"top_k": 5, "guided_json": {"a": [1, None, {"b": "é"}]}, "x.y": False}
    request = CompletionRequest(model="sim/m", prompt="hi", extra=extra)
    assert sent(request) == {"model": "m", "prompt": "hi", **extra}


@pytest.mark.parametrize(
    "prompt", ["", "é\u2028😀", ("a", "b"), ("",), (15496, 995), ((1, 2), (3,))]
)
def test_a_prompt_is_sent_in_its_own_form(prompt: Any) -> None:
    assert sent(CompletionRequest(model="sim/m", prompt=prompt))["prompt"] == json.loads(
        json.dumps(prompt)
    )


@pytest.mark.parametrize(
    "name",
    [
        "accounts/acme/routers/fast-1",
        "accounts/A/models/Llama-3.1-8B",
        "anthropic.claude-x-v1:0",
        "ft:m:org::abc",
        "m:free",
        "a//b/",
    ],
)
def test_a_models_name_is_sent_as_it_was_written(name: str) -> None:
    assert sent(CompletionRequest(model=f"sim/{name}", prompt="hi"))["model"] == name


@pytest.mark.parametrize("options", [None, {}, {"include_usage": True}, {"include_usage": False}])
def test_a_stream_always_asks_for_its_usage(options: Any) -> None:
    request = CompletionRequest(model="sim/m", prompt="hi", stream=True, stream_options=options)
    body = sent(request)
    assert body == {
        "model": "m",
        "prompt": "hi",
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_other_stream_options_are_sent_along() -> None:
    options = {"continuous_usage_stats": True, "include_obfuscation": False, "mine": [1]}
    request = CompletionRequest(model="sim/m", prompt="hi", stream=True, stream_options=options)
    assert sent(request)["stream_options"] == {**options, "include_usage": True}


def test_a_vendor_without_stream_options_gets_none() -> None:
    request = CompletionRequest(
        model="sim/m", prompt="hi", stream=True, stream_options={"include_usage": True}
    )
    assert "stream_options" not in sent(request, vendor(asks_usage=False))


@pytest.mark.parametrize(
    ("request_", "accept"), [(ASKED, "application/json"), (STREAMED, "text/event-stream")]
)
def test_the_request_goes_to_the_completions_path_with_the_key(
    request_: CompletionRequest, accept: str
) -> None:
    encoded = GATEWAY.encode(VENDOR, request_)
    assert encoded.url == "https://v.example/v1/completions"
    assert authenticated(VENDOR, encoded) == {
        "content-type": "application/json",
        "accept": accept,
        "authorization": f"Bearer {SECRET}",
    }
    assert SECRET not in repr(encoded)
    assert SECRET not in repr(VENDOR)
    assert str(request_.prompt) not in repr(encoded)  # nor is a prompt shown in any log


def test_headers_of_the_entry_come_last_and_no_key_means_no_credentials() -> None:
    keyless = vendor(api_key=None, headers={"x-title": "Tollgate"})
    headers = authenticated(keyless, GATEWAY.encode(keyless, ASKED))
    assert "authorization" not in headers
    assert headers["x-title"] == "Tollgate"
    own = vendor(headers={"authorization": "Bearer other"})
    assert authenticated(own, GATEWAY.encode(own, ASKED))["authorization"] == "Bearer other"


def test_what_the_entry_refuses_is_refused_dropped_or_neutral() -> None:
    picky = vendor(unsupported=frozenset({"suffix", "best_of"}))
    with pytest.raises(UnsupportedParameter) as caught:
        GATEWAY.encode(picky, CompletionRequest(model="sim/m", prompt="hi", suffix="x"))
    assert caught.value.param == "suffix"
    neutral = CompletionRequest(model="sim/m", prompt="hi", suffix="", best_of=1)
    assert sent(neutral, picky) == {"model": "m", "prompt": "hi"}
    lax = vendor(unsupported=frozenset({"suffix", "best_of"}), drop_unsupported=True)
    request = CompletionRequest(model="sim/m", prompt="hi", suffix="x", best_of=3, n=1)
    encoded = GATEWAY.encode(lax, request)
    assert encoded.dropped == ("best_of", "suffix")
    assert json.loads(encoded.body) == {"model": "m", "prompt": "hi", "n": 1}


@pytest.mark.parametrize("prompt", [(1, 2), ((1,), (2,))])
def test_token_ids_are_refused_where_the_vendor_takes_text_and_never_made_text(prompt: Any) -> None:
    with pytest.raises(UnsupportedParameter) as caught:
        GATEWAY.encode(vendor(token_prompts=False), CompletionRequest(model="sim/m", prompt=prompt))
    assert caught.value.param == "prompt"
