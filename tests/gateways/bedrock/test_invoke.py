import base64
import contextlib
import dataclasses
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.gateways.bedrock.invoke import InvokeGateway
from app.gateways.bedrock.model_families import PROMPT_FAMILIES
from app.vocabulary.completion import Usage
from app.vocabulary.errors import (
    GatewayError,
    InvalidRequest,
    ModelNotFound,
    UnsupportedParameter,
    VendorFailed,
)
from tests.gateways.bedrock.rows import body_of, request, row, sent, streamed, summary
from tests.gateways.reading import decode
from tests.support.vendor import Asked
from tests.support.vendors.base import Finish, Said
from tests.support.vendors.bedrock import BedrockWire, chunk_frame, event_frame
from tests.support.vendors.bedrock_families import FAMILIES as RAW

GATEWAY = InvokeGateway()
MODELS = {
    "cohere": "cohere.command-text-v14",
    "jurassic": "ai21.j2-ultra-v1",
    "llama": "us.meta.llama3-3-70b-instruct-v1:0",
    "mistral": "mistral.mistral-7b-instruct-v0:2",
    "titan": "amazon.titan-text-premier-v1:0",
}
STREAMING = sorted(MODELS.keys() - {"jurassic"})
SETTINGS = {"max_tokens": 9, "temperature": 0.5, "top_p": 0.25}


def raw(name: str) -> Any:
    return next(family for part, family in RAW.items() if part in MODELS[name])


def test_every_native_model_of_the_row_has_a_family_and_every_family_a_model() -> None:
    vendor = row()
    assert list(vendor.native) == list(vendor.quirks["families"])
    assert set(vendor.quirks["families"].values()) == PROMPT_FAMILIES.keys() == MODELS.keys()


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("cohere", {"prompt": "Once", "max_tokens": 9, "temperature": 0.5, "p": 0.25}),
        ("jurassic", {"prompt": "Once", "maxTokens": 9, "temperature": 0.5, "topP": 0.25}),
        ("llama", {"prompt": "Once", "max_gen_len": 9, "temperature": 0.5, "top_p": 0.25}),
        ("mistral", {"prompt": "Once", "max_tokens": 9, "temperature": 0.5, "top_p": 0.25}),
        (
            "titan",
            {
                "inputText": "Once",
                "textGenerationConfig": {"maxTokenCount": 9, "temperature": 0.5, "topP": 0.25},
            },
        ),
    ],
)
def test_the_prompt_is_sent_as_it_is_in_the_familys_words(name: str, body: Any) -> None:
    found = sent(GATEWAY, request(MODELS[name], **SETTINGS))
    assert found == ({**body, "stream": True} if name == "cohere" else body)


@pytest.mark.parametrize("name", MODELS)
def test_nothing_is_sent_that_the_caller_did_not_set(name: str) -> None:
    found = sent(GATEWAY, request(MODELS[name]))
    found.pop("stream", None)
    assert list(found.values()) == ["Once"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_the_vendor_takes_what_is_sent(name: str, stream: bool) -> None:
    stop = {} if name == "llama" else {"stop": ["x"]}
    asked = request(MODELS[name], stream=stream, **SETTINGS, **stop)
    encoded = GATEWAY.encode(row(), asked)
    path = encoded.url.removeprefix(row().base_url)
    headers = {**encoded.headers, "authorization": "Bearer sk-test"}
    refusal = BedrockWire(MODELS[name]).check(Asked(path, headers, json.loads(encoded.body), 1))
    assert refusal is None, body_of(refusal)


def test_stop_sequences_are_a_list() -> None:
    body = sent(GATEWAY, request(MODELS["titan"], stop="\n"))
    assert body["textGenerationConfig"] == {"stopSequences": ["\n"]}
    assert sent(GATEWAY, request(MODELS["mistral"], stop=["a", "b"]))["stop"] == ["a", "b"]


def test_the_end_user_is_named_in_a_header() -> None:
    headers = GATEWAY.encode(row(), request(MODELS["llama"], user="u-1")).headers
    assert headers["x-amzn-bedrock-request-metadata"] == '{"user":"u-1"}'


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("llama", {"stop": "x"}),
        ("titan", {"seed": 1}),
        ("titan", {"echo": True}),
        ("mistral", {"suffix": "the end"}),
        ("cohere", {"best_of": 2}),
        ("jurassic", {"presence_penalty": 1}),
        ("llama", {"prompt": [1, 2]}),
    ],
)
def test_what_a_family_has_no_word_for_is_refused_by_name(name: str, more: Any) -> None:
    with pytest.raises(UnsupportedParameter) as caught:
        GATEWAY.encode(row(), request(MODELS[name], **more))
    assert [caught.value.param] == list(more)


def test_a_value_out_of_a_familys_range_is_refused_with_it() -> None:
    with pytest.raises(InvalidRequest, match="from 0 to 1"):
        GATEWAY.encode(row(), request(MODELS["llama"], temperature=1.5))
    with pytest.raises(InvalidRequest, match="at least 1"):
        GATEWAY.encode(row(), request(MODELS["llama"], max_tokens=0))
    assert sent(GATEWAY, request(MODELS["cohere"], temperature=1.5))["temperature"] == 1.5


def test_a_model_of_no_family_is_not_guessed_at() -> None:
    with pytest.raises(ModelNotFound, match=r"quirks\.families"):
        GATEWAY.encode(row(), request("amazon.nova-pro-v1:0"))


def test_a_whole_answer_is_asked_for_as_a_stream_where_only_that_counts_its_tokens() -> None:
    operations = {}
    for name, model in MODELS.items():
        whole, stream = (
            GATEWAY.encode(row(), request(model, stream=stream)).url.rpartition("/")[2]
            for stream in (False, True)
        )
        operations[name] = (whole, stream)
    streaming = "invoke-with-response-stream"
    assert operations == {
        "cohere": (streaming, streaming),
        "jurassic": ("invoke", "invoke"),
        "llama": ("invoke", streaming),
        "mistral": (streaming, streaming),
        "titan": ("invoke", streaming),
    }


CASES: list[tuple[str, Finish]] = [
    (name, finish) for name in MODELS for finish in raw(name).finishes
]


@pytest.mark.parametrize(("name", "finish"), CASES)
def test_a_whole_answer_is_read(name: str, finish: Finish) -> None:
    said = Said(finish=finish)
    asked = request(MODELS[name])
    path = GATEWAY.encode(row(), asked).url.removeprefix(row().base_url)
    reply = BedrockWire(MODELS[name]).answer(Asked(path, {}, {}, 1), said)
    answer = decode(GATEWAY, row(), asked, body_of(reply))
    (choice,) = answer.choices
    assert (choice.index, choice.text, choice.finish_reason) == (0, said.text, finish)
    assert answer.usage == Usage(prompt_tokens=11, completion_tokens=7, total_tokens=18)


@pytest.mark.parametrize("name", STREAMING)
def test_a_stream_may_be_cut_anywhere(name: str) -> None:
    said = Said(text="caf\u00e9 au lait", finish="length")
    body = b"".join(chunk_frame(chunk) for chunk in raw(name).chunks(said))
    counted = Usage(prompt_tokens=11, completion_tokens=7, total_tokens=18)
    for packet in [*range(1, 150), len(body)]:
        chunks = streamed(GATEWAY, request(MODELS[name], stream=True), body, packet)
        assert summary(chunks) == (said.text, ["length"], counted)
        assert all(chunk.choices or chunk.usage for chunk in chunks)


@pytest.mark.parametrize("name", STREAMING)
@pytest.mark.parametrize("stream", [False, True])
def test_a_stream_without_an_end_is_not_whole(name: str, stream: bool) -> None:
    body = b"".join(chunk_frame(chunk) for chunk in raw(name).chunks(Said())[:-1])
    asked = request(MODELS[name], stream=stream)
    with pytest.raises(VendorFailed):
        streamed(GATEWAY, asked, body) if stream else decode(GATEWAY, row(), asked, body)


def test_what_a_guardrail_says_is_filtered() -> None:
    chunk = {
        "generation": "No.",
        "stop_reason": "stop",
        "amazon-bedrock-guardrailAction": "INTERVENED",
    }
    body = chunk_frame(chunk)
    asked = request(MODELS["llama"], stream=True)
    assert summary(streamed(GATEWAY, asked, body)) == ("No.", ["content_filter"], None)
    whole = json.dumps({**chunk, "prompt_token_count": 3, "generation_token_count": 1}).encode()
    answer = decode(GATEWAY, row(), request(MODELS["llama"]), whole)
    assert answer.choices[0].finish_reason == "content_filter"


def test_an_answer_that_is_no_stream_is_not_taken_for_one() -> None:
    with pytest.raises(VendorFailed):
        decode(GATEWAY, row(), request(MODELS["mistral"]), b'{"outputs": []}')
    with pytest.raises(VendorFailed):
        decode(GATEWAY, row(), request(MODELS["llama"]), b'{"stop_reason": null}')


@pytest.mark.parametrize("payload", [{}, {"bytes": "%"}, {"bytes": 7}, {"bytes": "eA=="}, []])
def test_a_chunk_without_its_json_is_broken(payload: Any) -> None:
    body = event_frame("chunk", payload) if isinstance(payload, dict) else b""
    with pytest.raises(VendorFailed):
        streamed(GATEWAY, request(MODELS["llama"], stream=True), body)


def test_events_of_a_new_kind_are_passed_over() -> None:
    body = event_frame("news", {"a": 1}) + chunk_frame({"generation": "x", "stop_reason": "stop"})
    chunks = streamed(GATEWAY, request(MODELS["llama"], stream=True), body)
    assert summary(chunks) == ("x", ["stop"], None)


_KEYS = st.sampled_from(["outputs", "text", "stop_reason", "results", "completions", "data"])
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(_KEYS, inner),
    max_leaves=12,
)


@given(JSON, st.sampled_from(sorted(MODELS)))
def test_no_json_breaks_more_than_its_answer(payload: Any, name: str) -> None:
    body = json.dumps(payload).encode()
    inside = event_frame("chunk", {"bytes": base64.b64encode(body).decode()})
    for packet in (body, body[1:], inside):
        with contextlib.suppress(GatewayError):  # anything else fails the test
            decode(GATEWAY, row(), request(MODELS[name]), packet)


def test_an_entry_may_give_a_family_to_imported_models() -> None:
    quirks = {"region": "eu-west-1", "families": {"*": "llama"}}
    mine = dataclasses.replace(row(), quirks=quirks)
    model = "arn:aws:bedrock:eu-west-1:123456789012:imported-model/a1b2c3d4e5f6"
    assert sent(GATEWAY, request(model), mine) == {"prompt": "Once"}
