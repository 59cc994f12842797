"""Amazon's own client can read the simulated Bedrock's responses."""

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import boto3
import botocore.config
import botocore.exceptions
import pytest

from tests.support.vendor import Reply, SimulatedVendor
from tests.support.vendors.base import Kind, Said
from tests.support.vendors.bedrock import (
    ACCESS_KEY,
    REGION,
    SECRET_KEY,
    SESSION_TOKEN,
    BedrockWire,
    event_frame,
    exception_frame,
    streamed,
)

CLAUDE = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-opus-4-8"
SAID = Said(text="caf\u00e9 au lait", finish="length", cached_tokens=4)
ASK = [{"role": "user", "content": [{"text": "Hi"}]}]


@pytest.fixture
def client(vendor: SimulatedVendor, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.delenv("AWS_BEARER_TOKEN_BEDROCK", raising=False)
    with contextlib.closing(signing_with(vendor, SECRET_KEY)) as client:
        yield client


def signing_with(vendor: SimulatedVendor, secret_key: str) -> Any:
    return boto3.client(
        "bedrock-runtime",
        endpoint_url=vendor.url.removesuffix("/v1"),
        region_name=REGION,
        aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=secret_key,
        aws_session_token=SESSION_TOKEN,
        config=botocore.config.Config(retries={"total_max_attempts": 1}),
    )


def serve(vendor: SimulatedVendor, model: str, said: Said = SAID) -> BedrockWire:
    wire = BedrockWire(model)
    vendor.default = lambda asked: wire.check(asked) or wire.answer(asked, said)
    return wire


def test_converse(client: Any, vendor: SimulatedVendor) -> None:
    serve(vendor, CLAUDE)
    config = {"maxTokens": 5, "temperature": 0.5, "topP": 0.9, "stopSequences": ["x"]}
    answer = client.converse(modelId=CLAUDE, messages=ASK, inferenceConfig=config)
    assert [block.get("text") for block in answer["output"]["message"]["content"]] == [
        None,
        SAID.text,
    ]
    assert answer["stopReason"] == "max_tokens"
    assert answer["usage"]["inputTokens"] == 7
    assert answer["usage"]["cacheReadInputTokens"] == 4
    assert vendor.asked[0].path.startswith("/model/arn%3Aaws%3Abedrock%3A")
    assert "%2Fus.anthropic" in vendor.asked[0].path


def test_converse_stream(client: Any, vendor: SimulatedVendor) -> None:
    serve(vendor, CLAUDE)
    answer = client.converse_stream(modelId=CLAUDE, messages=ASK, requestMetadata={"user": "u-1"})
    events = list(answer["stream"])
    deltas = [e["contentBlockDelta"]["delta"] for e in events if "contentBlockDelta" in e]
    assert "".join(delta.get("text", "") for delta in deltas) == SAID.text
    assert events[-2] == {"messageStop": {"stopReason": "max_tokens"}}
    assert events[-1]["metadata"]["usage"]["outputTokens"] == 7


BODIES: dict[str, dict[str, Any]] = {
    "amazon.titan-text-lite-v1": {
        "inputText": "Hi",
        "textGenerationConfig": {"maxTokenCount": 5, "stopSequences": ["User:"]},
    },
    "meta.llama3-8b-instruct-v1:0": {"prompt": "Hi", "max_gen_len": 5, "top_p": 0.5},
    "mistral.mistral-7b-instruct-v0:2": {"prompt": "Hi", "max_tokens": 5, "stop": ["x"]},
    "cohere.command-text-v14": {"prompt": "Hi", "max_tokens": 5, "p": 0.5, "stream": True},
    "ai21.j2-ultra-v1": {"prompt": "Hi", "maxTokens": 5},
}


@pytest.mark.parametrize("model", BODIES)
def test_invoke_model(client: Any, vendor: SimulatedVendor, model: str) -> None:
    serve(vendor, model)
    answer = client.invoke_model(modelId=model, body=json.dumps(BODIES[model]))
    assert SAID.text in json.dumps(json.load(answer["body"]), ensure_ascii=False)
    headers = answer["ResponseMetadata"]["HTTPHeaders"]
    assert headers["x-amzn-bedrock-input-token-count"] == "11"


@pytest.mark.parametrize("model", [model for model in BODIES if "j2" not in model])
def test_invoke_model_with_response_stream(
    client: Any, vendor: SimulatedVendor, model: str
) -> None:
    serve(vendor, model)
    answer = client.invoke_model_with_response_stream(modelId=model, body=json.dumps(BODIES[model]))
    chunks = [json.loads(event["chunk"]["bytes"]) for event in answer["body"]]
    assert chunks[-1]["amazon-bedrock-invocationMetrics"]["inputTokenCount"] == 11
    assert len(chunks) == 4


@pytest.mark.parametrize(
    ("kind", "name", "status"),
    [
        ("too_long", "ValidationException", 400),
        ("bad_key", "UnrecognizedClientException", 403),
        ("rate_limited", "ThrottlingException", 429),
        ("server_error", "InternalServerException", 500),
    ],
)
def test_errors(client: Any, vendor: SimulatedVendor, kind: Kind, name: str, status: int) -> None:
    wire = BedrockWire(CLAUDE)
    vendor.default = lambda asked: wire.refuse(asked, kind)
    with pytest.raises(botocore.exceptions.ClientError) as caught:
        client.converse(modelId=CLAUDE, messages=ASK)
    assert caught.value.response["Error"]["Code"] == name
    assert caught.value.response["Error"]["Message"]
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == status


@pytest.mark.usefixtures("client")
def test_a_wrong_signature_is_refused(vendor: SimulatedVendor) -> None:
    serve(vendor, CLAUDE)
    with (
        contextlib.closing(signing_with(vendor, "another")) as client,
        pytest.raises(botocore.exceptions.ClientError, match="security token"),
    ):
        client.converse(modelId=CLAUDE, messages=ASK)


def test_an_exception_in_a_stream(client: Any, vendor: SimulatedVendor) -> None:
    def broken(_: Any) -> Reply:
        start = event_frame("messageStart", {"role": "assistant"})
        failure = exception_frame(
            "modelStreamErrorException",
            message="An error occurred.",
            originalStatusCode=500,
            originalMessage="The model fell over.",
        )
        return streamed([start, failure])

    vendor.default = broken
    with (
        contextlib.closing(client.converse_stream(modelId=CLAUDE, messages=ASK)["stream"]) as said,
        pytest.raises(botocore.exceptions.EventStreamError, match="modelStreamErrorException"),
    ):
        list(said)
