"""Google's own client at the simulated vendors: what it reads there is what Google says."""

from collections.abc import Iterator
from typing import Any

import pytest
from google import genai
from google.genai import errors, types
from google.oauth2.credentials import Credentials

from tests.support.vendor import SimulatedVendor
from tests.support.vendors.base import Kind, Said
from tests.support.vendors.gemini import GeminiWire, VertexWire

SAID = Said(
    text="caf\u00e9 au lait",
    finish="length",
    prompt_tokens=9,
    completion_tokens=7,
    cached_tokens=4,
    reasoning_tokens=2,
)
MODEL = "gemini-2.5-flash"


@pytest.fixture(params=["gemini", "vertex_ai"])
def wire(request: pytest.FixtureRequest, vendor: SimulatedVendor) -> GeminiWire:
    """Each API in turn, at the simulated vendor."""
    wire = GeminiWire() if request.param == "gemini" else VertexWire()
    vendor.default = lambda asked: wire.check(asked) or wire.answer(asked, SAID)
    return wire


@pytest.fixture
def client(wire: GeminiWire, vendor: SimulatedVendor) -> Iterator[genai.Client]:
    with client_for(wire, vendor, "sk-test") as client:
        yield client


def client_for(wire: GeminiWire, vendor: SimulatedVendor, key: str) -> genai.Client:
    version = "v1" if isinstance(wire, VertexWire) else "v1beta"
    at = types.HttpOptions(base_url=vendor.url.removesuffix("/v1"), api_version=version)
    if not isinstance(wire, VertexWire):
        return genai.Client(api_key=key, http_options=at)
    token: Any = Credentials(key)  # type: ignore[no-untyped-call]
    return genai.Client(
        vertexai=True, project="acme", location="global", credentials=token, http_options=at
    )


CONFIG = types.GenerateContentConfig(
    candidate_count=2,
    frequency_penalty=0.5,
    logprobs=2,
    max_output_tokens=5,
    presence_penalty=0.5,
    response_logprobs=True,
    seed=7,
    stop_sequences=["x"],
    temperature=0.5,
    top_p=0.9,
)


def test_an_answer(client: genai.Client) -> None:
    answer = client.models.generate_content(model=MODEL, contents="Hi", config=CONFIG)
    assert answer.candidates is not None
    told = [(c.index or 0, c.finish_reason, c.content) for c in answer.candidates]
    text = types.Content(role="model", parts=[types.Part(text=SAID.text)])
    reason = types.FinishReason.MAX_TOKENS
    assert told == [(0, reason, text), (1, reason, text)]
    assert answer.model_version == MODEL
    usage = answer.usage_metadata
    assert usage is not None
    assert usage.prompt_token_count == SAID.prompt_tokens
    assert usage.cached_content_token_count == SAID.cached_tokens
    assert usage.thoughts_token_count == 2 * SAID.reasoning_tokens
    assert usage.candidates_token_count == 2 * (SAID.completion_tokens - SAID.reasoning_tokens)
    assert usage.total_token_count == SAID.prompt_tokens + 2 * SAID.completion_tokens


def test_log_probabilities(client: genai.Client) -> None:
    answer = client.models.generate_content(model=MODEL, contents="Hi", config=CONFIG)
    assert answer.candidates is not None
    result = answer.candidates[1].logprobs_result
    assert result is not None
    assert result.chosen_candidates is not None
    assert result.top_candidates is not None
    chosen = [(token.token, token.log_probability) for token in result.chosen_candidates]
    assert chosen == [("caf\u00e9", -0.5), (" au", -0.5), (" lait", -0.5)]
    tops = [[token.token for token in step.candidates or []] for step in result.top_candidates]
    assert tops == [["caf\u00e9", "~0"], [" au", "~0"], [" lait", "~0"]]


def test_a_stream(client: genai.Client) -> None:
    chunks = list(client.models.generate_content_stream(model=MODEL, contents="Hi"))
    assert "".join(chunk.text or "" for chunk in chunks) == SAID.text
    last = chunks[-1]
    assert last.candidates is not None
    assert last.candidates[0].finish_reason is types.FinishReason.MAX_TOKENS
    assert last.usage_metadata is not None
    total = SAID.prompt_tokens + SAID.completion_tokens
    assert last.usage_metadata.total_token_count == total


@pytest.mark.parametrize(
    ("kind", "status", "word"),
    [
        ("too_long", 400, "INVALID_ARGUMENT"),
        ("rate_limited", 429, "RESOURCE_EXHAUSTED"),
        ("server_error", 500, "INTERNAL"),
    ],
)
@pytest.mark.parametrize("streamed", [False, True])
def test_an_error(
    client: genai.Client,
    wire: GeminiWire,
    vendor: SimulatedVendor,
    kind: Kind,
    status: int,
    word: str,
    streamed: bool,
) -> None:
    vendor.default = lambda asked: wire.refuse(asked, kind, retry_after="7")
    models = client.models
    ask = models.generate_content_stream if streamed else models.generate_content
    with pytest.raises(errors.APIError) as caught:
        list(ask(model=MODEL, contents="Hi"))
    assert (caught.value.code, caught.value.status) == (status, word)


def test_a_wrong_key_is_refused(wire: GeminiWire, vendor: SimulatedVendor) -> None:
    with (
        client_for(wire, vendor, "sk-wrong") as client,
        pytest.raises(errors.ClientError) as caught,
    ):
        client.models.generate_content(model=MODEL, contents="Hi")
    assert caught.value.code == (401 if isinstance(wire, VertexWire) else 400)
