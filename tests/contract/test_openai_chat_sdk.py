"""OpenAI's, Groq's and Mistral's own clients can read the responses of their simulated vendors."""

from collections.abc import Callable, Iterator
from typing import Any

import groq
import httpx
import openai
import pytest
from mistralai.client import Mistral
from mistralai.client.errors import MistralError
from openai import AzureOpenAI, OpenAI

from tests.support.vendor import SimulatedVendor
from tests.support.vendors.azure import AzureWire
from tests.support.vendors.base import Said, Wire
from tests.support.vendors.deepseek import DEEPSEEK, DEEPSEEK_FIM
from tests.support.vendors.groq import GROQ
from tests.support.vendors.mistral import MistralWire
from tests.support.vendors.openai_chat import OpenAIChatWire
from tests.support.vendors.openrouter import OPENROUTER
from tests.support.vendors.xai import XAI

SAID = Said(cached_tokens=4, reasoning_tokens=3)
MESSAGES: Any = [{"role": "user", "content": "hi"}]
Speak = Callable[[Wire], str]


@pytest.fixture
def speak(vendor: SimulatedVendor) -> Speak:
    """Have the simulated vendor use a format; return its URL."""

    def speaks(wire: Wire) -> str:
        vendor.default = lambda asked: wire.check(asked) or wire.answer(asked, SAID)
        return vendor.url.removesuffix("/v1")

    return speaks


@pytest.fixture(params=["openai", "azure", "xai", "openrouter", "deepseek"])
def openai_client(request: pytest.FixtureRequest, speak: Speak) -> Iterator[tuple[OpenAI, str]]:
    """OpenAI's client at each vendor that documents its use, and a model there."""
    if request.param == "azure":
        client: OpenAI = AzureOpenAI(
            azure_endpoint=speak(AzureWire()), api_version="2024-10-21", api_key="sk-test"
        )
        model = "gpt-4o"
    else:
        wire, path = {
            "openai": (OpenAIChatWire(), "/v1"),
            "xai": (XAI, "/v1"),
            "openrouter": (OPENROUTER, "/api/v1"),
            "deepseek": (DEEPSEEK, "/beta"),
        }[request.param]
        client = OpenAI(base_url=speak(wire) + path, api_key="sk-test")
        model = wire.model
    with client:
        yield client.with_options(max_retries=0), model


def check_usage(usage: Any, *, reasoning_is_part: bool = True) -> None:
    assert (usage.prompt_tokens, usage.total_tokens) == (11, 18)
    assert usage.completion_tokens == (7 if reasoning_is_part else 4)
    assert usage.prompt_tokens_details.cached_tokens == 4
    assert usage.completion_tokens_details.reasoning_tokens == 3


def test_openais_client_reads_a_whole_answer(openai_client: tuple[OpenAI, str]) -> None:
    client, model = openai_client
    answer = client.chat.completions.create(model=model, messages=MESSAGES)
    assert answer.object == "chat.completion"
    assert [c.message.content for c in answer.choices] == [SAID.text]
    assert answer.choices[0].finish_reason == "stop"
    check_usage(answer.usage, reasoning_is_part=not model.startswith("grok"))


def test_openais_client_reads_a_stream(openai_client: tuple[OpenAI, str]) -> None:
    client, model = openai_client
    chunks: list[Any] = list(
        client.chat.completions.create(
            model=model, messages=MESSAGES, stream=True, stream_options={"include_usage": True}
        )
    )
    choices = [c for chunk in chunks for c in chunk.choices if c.delta is not None]
    assert "".join(c.delta.content or "" for c in choices) == SAID.text
    assert [c.finish_reason for c in choices if c.finish_reason] == ["stop"]
    usages = [chunk.usage for chunk in chunks if getattr(chunk, "usage", None)]
    check_usage(*usages, reasoning_is_part=not model.startswith("grok"))


def test_openais_client_reads_a_refusal(openai_client: tuple[OpenAI, str]) -> None:
    client, model = openai_client
    with pytest.raises(openai.BadRequestError) as caught:
        client.chat.completions.create(model=model, messages=MESSAGES, extra_body={"nope": 1})
    assert "nope" in str(caught.value)
    with pytest.raises(openai.AuthenticationError):
        client.with_options(api_key="wrong").chat.completions.create(model=model, messages=MESSAGES)


@pytest.mark.parametrize("alternatives", [0, 2])
def test_openais_client_reads_log_probabilities(speak: Speak, alternatives: int) -> None:
    more: Any = {"top_logprobs": alternatives} if alternatives else {}
    with OpenAI(base_url=f"{speak(OpenAIChatWire())}/v1", api_key="sk-test") as client:
        answer = client.chat.completions.create(
            model="gpt-4o", messages=MESSAGES, logprobs=True, **more
        )
    logprobs = answer.choices[0].logprobs
    assert logprobs is not None
    assert logprobs.content is not None
    assert "".join(token.token for token in logprobs.content) == SAID.text
    assert {len(token.top_logprobs) for token in logprobs.content} == {alternatives}


def test_openais_client_is_told_where_a_model_is(speak: Speak) -> None:
    with OpenAI(base_url=f"{speak(OpenAIChatWire())}/v1", api_key="sk-test") as client:
        with pytest.raises(openai.NotFoundError, match="is a chat model"):
            client.completions.create(model="gpt-4o", prompt="hi")
        with pytest.raises(openai.NotFoundError, match="is not a chat model"):
            client.chat.completions.create(model="davinci-002", messages=MESSAGES)
        assert client.completions.create(model="davinci-002", prompt="hi").object


def test_openais_client_fills_in_the_middle_at_deepseek(speak: Speak) -> None:
    with OpenAI(base_url=f"{speak(DEEPSEEK_FIM)}/beta", api_key="sk-test") as client:
        answer = client.completions.create(model="deepseek-v4-pro", prompt="a", suffix="c")
    assert answer.choices[0].text == SAID.text


@pytest.fixture
def groq_client(speak: Speak) -> Iterator[groq.Groq]:
    with groq.Groq(api_key="sk-test", base_url=speak(GROQ), max_retries=0) as client:
        yield client


def test_groqs_client_reads_a_whole_answer(groq_client: groq.Groq) -> None:
    answer = groq_client.chat.completions.create(model="m", messages=MESSAGES)
    assert answer.choices[0].message.content == SAID.text
    check_usage(answer.usage)


def test_groqs_client_reads_a_stream(groq_client: groq.Groq) -> None:
    stream = groq_client.chat.completions.create(model="m", messages=MESSAGES, stream=True)
    chunks = list(stream)
    choices = [c for chunk in chunks for c in chunk.choices]
    assert "".join(c.delta.content or "" for c in choices) == SAID.text
    usages = [chunk.x_groq.usage for chunk in chunks if chunk.x_groq and chunk.x_groq.usage]
    check_usage(*usages)


def test_groqs_client_reads_a_refusal(groq_client: groq.Groq) -> None:
    with pytest.raises(groq.BadRequestError, match="'logprobs' is unsupported"):
        groq_client.chat.completions.create(model="m", messages=MESSAGES, logprobs=True)


@pytest.fixture
def mistral_client(speak: Speak) -> Iterator[Mistral]:
    http: Any = httpx.Client()  # it has all that the client asks for, but not to the letter
    with http, Mistral(api_key="sk-test", server_url=speak(MistralWire()), client=http) as client:
        yield client


ASK_MISTRAL: dict[str, Any] = {"model": "m", "messages": MESSAGES, "random_seed": 7}
FILL_IN: dict[str, Any] = {"model": "codestral-latest", "prompt": "a", "suffix": "c"}


def test_mistrals_client_reads_a_whole_answer(mistral_client: Mistral) -> None:
    for answer in (
        mistral_client.chat.complete(**ASK_MISTRAL),
        mistral_client.fim.complete(**FILL_IN),
    ):
        assert answer.choices[0].message is not None
        assert answer.choices[0].message.content == SAID.text
        assert answer.choices[0].finish_reason == "stop"
        assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (11, 7)


def test_mistrals_client_reads_a_stream(mistral_client: Mistral) -> None:
    for stream in (
        mistral_client.chat.stream(**ASK_MISTRAL),
        mistral_client.fim.stream(**FILL_IN),
    ):
        with stream:
            chunks = [event.data for event in stream]
        pieces = [c.delta.content for chunk in chunks for c in chunk.choices]
        assert "".join(piece for piece in pieces if isinstance(piece, str)) == SAID.text
        assert chunks[-1].choices[0].finish_reason == "stop"
        assert chunks[-1].usage is not None
        assert chunks[-1].usage.total_tokens == 18


def test_mistrals_client_reads_a_refusal(speak: Speak) -> None:
    http: Any = httpx.Client()
    with (
        http,
        Mistral(api_key="wrong", server_url=speak(MistralWire()), client=http) as client,
        pytest.raises(MistralError) as caught,
    ):
        client.chat.complete(**ASK_MISTRAL)
    assert caught.value.status_code == 401
