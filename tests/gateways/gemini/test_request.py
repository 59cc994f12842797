"""Google's format: the requests and their URLs."""

import dataclasses
from typing import Any
from urllib.parse import urlsplit

import pytest

from app.gateways.families import GATEWAY_SPECS
from app.transport.auth.schemes import authenticated
from app.vendors.table import load_vendors
from app.vendors.vendor import Vendor
from app.vocabulary.errors import InvalidRequest, UnsupportedParameter
from tests.gateways.gemini.wire import GATEWAY, ROW, SECRET, asked, sent

PROJECT = "https://aiplatform.googleapis.com/v1/projects/acme"


def url(model: str, row: Vendor = ROW, **parameters: Any) -> str:
    return GATEWAY.encode(row, asked(model=model, **parameters)).url


def test_a_prompt_is_one_users_turn_and_nothing_is_sent_that_was_not_set() -> None:
    assert sent() == {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}


def test_every_parameter_has_googles_name() -> None:
    request = asked(
        frequency_penalty=0.5,
        logprobs=3,
        max_tokens=5,
        n=2,
        presence_penalty=-0.5,
        seed=7,
        stop=["a", "b"],
        temperature=0.0,
        top_p=0.9,
    )
    assert sent(request)["generationConfig"] == {
        "frequencyPenalty": 0.5,
        "responseLogprobs": True,
        "logprobs": 3,
        "maxOutputTokens": 5,
        "candidateCount": 2,
        "presencePenalty": -0.5,
        "seed": 7,
        "stopSequences": ["a", "b"],
        "temperature": 0.0,
        "topP": 0.9,
    }


def test_one_stop_sequence_is_a_list_of_one() -> None:
    assert sent(asked(stop="\n"))["generationConfig"] == {"stopSequences": ["\n"]}


def test_no_alternatives_are_asked_for_when_only_the_sampled_tokens_are_wanted() -> None:
    assert sent(asked(logprobs=0))["generationConfig"] == {"responseLogprobs": True}


@pytest.mark.parametrize(
    ("name", "value"), [("best_of", 2), ("logit_bias", {"5": 1}), ("suffix", "x")]
)
def test_what_the_wire_has_no_word_for_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(UnsupportedParameter) as caught:
        sent(asked(**{name: value}))
    assert caught.value.param == name
    lax = dataclasses.replace(ROW, drop_unsupported=True)
    assert GATEWAY.encode(lax, asked(**{name: value})).dropped == (name,)


def test_fields_beyond_the_contract_are_refused_by_name() -> None:
    with pytest.raises(UnsupportedParameter) as caught:
        sent(asked(extra={"top_k": 5}))
    assert caught.value.param == "top_k"


def test_no_tokens_at_all_cannot_be_asked_for() -> None:
    with pytest.raises(InvalidRequest, match="at least 1") as caught:
        sent(asked(max_tokens=0))
    assert caught.value.param == "max_tokens"


def test_token_ids_are_refused() -> None:
    with pytest.raises(UnsupportedParameter):
        GATEWAY.prepared(ROW, asked(prompt=[1, 2]))


def test_the_key_goes_in_a_header_and_nowhere_else() -> None:
    encoded = GATEWAY.encode(ROW, asked())
    assert authenticated(ROW, encoded)["x-goog-api-key"] == SECRET
    assert SECRET not in encoded.url
    assert SECRET not in encoded.body.decode()


def test_a_stream_is_another_method_and_comes_as_events() -> None:
    assert url("m") == "https://g.example/v1beta/models/m:generateContent"
    streamed = url("m", stream=True)
    assert streamed == "https://g.example/v1beta/models/m:streamGenerateContent?alt=sse"


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("gemini-2.5-flash", "models/gemini-2.5-flash"),
        ("models/gemini-2.5-flash", "models/gemini-2.5-flash"),
        ("tunedModels/mine-1", "tunedModels/mine-1"),
        ("tunedModels/", "models/tunedModels%2F"),
        ("../../v1/cachedContents", "models/..%2F..%2Fv1%2FcachedContents"),
        ("models/../x", "models/..%2Fx"),
        ("..", "models/.."),
        ("m?key=x", "models/m%3Fkey%3Dx"),
        ("m#x", "models/m%23x"),
        ("m:countTokens", "models/m%3AcountTokens"),
        ("m%2e", "models/m%252e"),
        ("m\r\nhost: x", "models/m%0D%0Ahost%3A%20x"),
        ("caf\u00e9", "models/caf%C3%A9"),
    ],
)
def test_a_models_name_is_one_segment_of_the_path_whatever_it_is(model: str, path: str) -> None:
    assert url(model) == f"https://g.example/v1beta/{path}:generateContent"
    parts = urlsplit(url(model, stream=True))
    assert (parts.query, parts.fragment) == ("alt=sse", "")


@pytest.mark.parametrize(
    ("location", "host"),
    [
        ("global", "aiplatform.googleapis.com"),
        ("europe-west4", "europe-west4-aiplatform.googleapis.com"),
        ("us", "aiplatform.us.rep.googleapis.com"),
        ("eu", "aiplatform.eu.rep.googleapis.com"),
    ],
)
def test_the_host_of_vertex_ai_follows_from_the_location(location: str, host: str) -> None:
    env = {"GOOGLE_CLOUD_PROJECT": "acme", "GOOGLE_CLOUD_LOCATION": location}
    row = load_vendors(None, env, GATEWAY_SPECS).find("vertex_ai")
    assert url("m", row) == (
        f"https://{host}/v1/projects/acme/locations/{location}/publishers/google"
        "/models/m:generateContent"
    )


def test_vertex_ai_is_global_unless_a_location_is_set_and_off_without_a_project() -> None:
    table = {row.name: row for row in load_vendors(None, {}, GATEWAY_SPECS)}
    assert table["vertex_ai"].missing == "GOOGLE_CLOUD_PROJECT"
    assert table["gemini"].missing == "GEMINI_API_KEY"
    row = load_vendors(None, {"GOOGLE_CLOUD_PROJECT": "acme"}, GATEWAY_SPECS).find("vertex_ai")
    assert row.base_url == f"{PROJECT}/locations/global/publishers/google"


def test_another_host_stays_as_it_is() -> None:
    row = dataclasses.replace(
        ROW, base_url="https://proxy.example/v1/projects/acme/locations/us/publishers/google"
    )
    assert url("m", row).startswith("https://proxy.example/v1/")
