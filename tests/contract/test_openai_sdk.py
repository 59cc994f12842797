"""Vendors' official clients can read the responses of simulated vendors in OpenAI's format.

Self-hosted servers, and some vendors, recommend OpenAI's client.
"""

from collections.abc import Callable, Iterator
from typing import Any

import fireworks
import openai
import pytest
import together
from openai import OpenAI

from tests.support.vendor import SimulatedVendor
from tests.support.vendors.base import Kind, Said, Wire
from tests.support.vendors.llmengine import HEADERS, LLMEngineWire
from tests.support.vendors.openai import FIREWORKS, OpenAIWire
from tests.support.vendors.self_hosted import LLAMACPP, OLLAMA, SGLANG, TGI, VLLM
from tests.support.vendors.together import TOGETHER

SAID = Said()
WIRES: dict[str, OpenAIWire] = {
    "openai": OpenAIWire(),
    "fireworks": FIREWORKS,
    "together": TOGETHER,
    "vllm": VLLM,
    "sglang": SGLANG,
    "llamacpp": LLAMACPP,
    "ollama": OLLAMA,
    "tgi": TGI,
    "llmengine": LLMEngineWire(),
}
ERRORS: list[tuple[Kind, str]] = [
    ("bad_key", "AuthenticationError"),
    ("rate_limited", "RateLimitError"),
]

Speak = Callable[[Wire], str]


@pytest.fixture
def speak(vendor: SimulatedVendor) -> Speak:
    """Have the simulated vendor use a format; return its URL."""

    def speaks(wire: Wire) -> str:
        vendor.default = lambda asked: wire.check(asked) or wire.answer(asked, SAID)
        return vendor.url.removesuffix("/v1")

    return speaks


@pytest.fixture(params=WIRES)
def openai_client(request: pytest.FixtureRequest, speak: Speak) -> Iterator[tuple[OpenAI, str]]:
    """OpenAI's client at each vendor, and a model there."""
    wire = WIRES[request.param]
    base_url = speak(wire) + wire.path.removesuffix("/completions")
    headers = HEADERS if request.param == "llmengine" else {}
    with OpenAI(base_url=base_url, api_key="sk-test", default_headers=headers) as client:
        yield client.with_options(max_retries=0), wire.model


def test_openai_s_client_reads_a_whole_answer(openai_client: tuple[OpenAI, str]) -> None:
    client, model = openai_client
    answer = client.completions.create(model=model, prompt="hi", max_tokens=20)
    [choice] = answer.choices
    assert choice.text == SAID.text
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (11, 7)


def test_openai_s_client_reads_a_stream(openai_client: tuple[OpenAI, str]) -> None:
    client, model = openai_client
    options: Any = {"stream_options": {"include_usage": True}}
    if model == TOGETHER.model:
        options = {}
    chunks = list(client.completions.create(model=model, prompt="hi", stream=True, **options))
    assert "".join(choice.text for chunk in chunks for choice in chunk.choices) == SAID.text
    usages = [chunk.usage for chunk in chunks if chunk.usage and chunk.usage.total_tokens]
    assert [usage.completion_tokens for usage in usages] == [7]


@pytest.mark.parametrize(("kind", "name"), ERRORS)
@pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES)
def test_openai_s_client_knows_each_error(
    vendor: SimulatedVendor, wire: OpenAIWire, kind: Kind, name: str
) -> None:
    vendor.default = lambda asked: wire.refuse(asked, kind)
    with (
        OpenAI(base_url=vendor.url, api_key="sk-test", max_retries=0) as client,
        pytest.raises(openai.APIStatusError) as caught,
    ):
        client.completions.create(model=wire.model, prompt="hi")
    assert type(caught.value).__name__ == name


@pytest.fixture
def together_client(speak: Speak) -> Iterator[together.Together]:
    """Together's own client."""
    url = speak(TOGETHER)
    with together.Together(api_key="sk-test", base_url=url, max_retries=0) as client:
        yield client


def test_together_s_client_reads_a_whole_answer(together_client: together.Together) -> None:
    answer = together_client.completions.create(
        model=TOGETHER.model, prompt="hi", stop=["END"], logprobs=1
    )
    [choice] = answer.choices
    assert (choice.text, choice.finish_reason) == (SAID.text, "eos")
    assert choice.logprobs is not None
    assert choice.logprobs.tokens == ["one", " two", " three"]
    assert answer.usage is not None
    assert answer.usage.total_tokens == 18


def test_together_s_client_reads_a_stream(together_client: together.Together) -> None:
    chunks = list(
        together_client.completions.create(model=TOGETHER.model, prompt="hi", stream=True)
    )
    choices = [choice for chunk in chunks for choice in chunk.choices]
    assert "".join(choice.text or "" for choice in choices) == SAID.text
    assert "".join(c.delta.content or "" for c in choices if c.delta) == SAID.text
    assert "".join(chunk.token.text for chunk in chunks) == SAID.text
    assert [chunk.usage.total_tokens for chunk in chunks if chunk.usage] == [18]


@pytest.mark.parametrize(("kind", "name"), ERRORS)
def test_together_s_client_knows_each_error(
    together_client: together.Together, vendor: SimulatedVendor, kind: Kind, name: str
) -> None:
    vendor.default = lambda asked: TOGETHER.refuse(asked, kind)
    with pytest.raises(getattr(together, name)):
        together_client.completions.create(model=TOGETHER.model, prompt="hi")


@pytest.fixture
def fireworks_client(speak: Speak) -> Iterator[fireworks.Fireworks]:
    """Fireworks' own client."""
    url = f"{speak(FIREWORKS)}/inference"
    with fireworks.Fireworks(api_key="sk-test", base_url=url, max_retries=0) as client:
        yield client


ASK: dict[str, Any] = {
    "model": FIREWORKS.model,
    "prompt": ["hi", "ho"],
    "n": 2,
    "context_length_exceeded_behavior": "error",
}


def test_fireworks_client_reads_a_whole_answer(fireworks_client: fireworks.Fireworks) -> None:
    answer = fireworks_client.completions.create(**ASK)
    assert [(choice.index, choice.text) for choice in answer.choices] == [
        (index, SAID.text) for index in range(4)
    ]
    assert answer.usage is not None
    assert answer.usage.total_tokens == 2 * 11 + 4 * 7


def test_fireworks_client_reads_a_stream(fireworks_client: fireworks.Fireworks) -> None:
    chunks: list[Any] = list(fireworks_client.completions.create(**ASK, stream=True))
    choices = [choice for chunk in chunks for choice in chunk.choices]
    assert "".join(choice.text for choice in choices if choice.index == 3) == SAID.text
    assert [choice.finish_reason for choice in choices][-4:] == ["stop"] * 4


@pytest.mark.parametrize(("kind", "name"), ERRORS)
def test_fireworks_client_knows_each_error(
    fireworks_client: fireworks.Fireworks, vendor: SimulatedVendor, kind: Kind, name: str
) -> None:
    vendor.default = lambda asked: FIREWORKS.refuse(asked, kind)
    with pytest.raises(getattr(fireworks, name)):
        fireworks_client.completions.create(**ASK)
