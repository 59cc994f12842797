"""Scale's client, which reads its own list of models."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from scale_gp_beta import AsyncSGPClient, SGPClient
from scale_gp_beta.types.chat import ChatCompletion, ChatCompletionChunk

from tests.contract.clients.backends import VENDORS, Backend
from tests.contract.clients.scenes import (
    BOTH_CITIES,
    QUESTION,
    RESULTS,
    SUMMARY,
    TEXT,
    WEATHER,
    says,
)

Messages = list[dict[str, object]]


def options(backend: Backend) -> dict[str, Any]:
    """Return what makes a client of Tollgate."""
    url = backend.gateway.base_url.removesuffix("/v5")
    key = backend.gateway.api_key
    return {"base_url": url, "api_key": key, "account_id": "acme", "max_retries": 0}


@pytest.fixture
def client(backend: Backend) -> Iterator[SGPClient]:
    with SGPClient(**options(backend)) as client:
        yield client


def asked(backend: Backend, text: str) -> dict[str, Any]:
    return {"model": backend.model, "messages": [{"role": "user", "content": text}]}


def check_answer(backend: Backend, answer: Any) -> None:
    assert isinstance(answer, ChatCompletion)
    (choice,) = answer.choices
    assert (choice.message.content, choice.finish_reason) == (TEXT, "stop")
    check_usage(backend, answer.usage)


def check_usage(backend: Backend, usage: Any) -> None:
    backend.check_usage(usage.prompt_tokens, usage.completion_tokens, usage.total_tokens)


def check_stream(backend: Backend, chunks: list[Any]) -> None:
    assert all(isinstance(chunk, ChatCompletionChunk) for chunk in chunks)
    choices = [choice for chunk in chunks for choice in chunk.choices]
    assert "".join(choice.delta.content or "" for choice in choices) == TEXT
    assert [choice.finish_reason for choice in choices if choice.finish_reason] == ["stop"]
    (usage,) = [chunk.usage for chunk in chunks if chunk.usage]
    check_usage(backend, usage)


def test_a_whole_answer(backend: Backend, client: SGPClient) -> None:
    backend.says(says(TEXT))
    check_answer(backend, client.chat.completions.create(**asked(backend, TEXT)))


STREAM: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}


def test_a_stream(backend: Backend, client: SGPClient) -> None:
    backend.says(says(TEXT))
    stream: Any = client.chat.completions.create(**asked(backend, TEXT), **STREAM)
    check_stream(backend, list(stream))


def test_coroutines(backend: Backend) -> None:
    async def ask() -> None:
        async with AsyncSGPClient(**options(backend)) as client:
            check_answer(backend, await client.chat.completions.create(**asked(backend, TEXT)))
            stream: Any = await client.chat.completions.create(**asked(backend, TEXT), **STREAM)
            check_stream(backend, [chunk async for chunk in stream])

    backend.says(says(TEXT))
    asyncio.run(ask())


def test_a_loop_of_tools(backend: Backend, client: SGPClient) -> None:
    """Its client has no helper: messages go back as their values."""
    backend.says(*BOTH_CITIES)
    request = asked(backend, QUESTION)
    first = client.chat.completions.create(**request, tools=[WEATHER])
    assert isinstance(first, ChatCompletion)
    message = first.choices[0].message
    assert message.tool_calls is not None
    request["messages"].append(message.model_dump())
    request["messages"] += [
        {"role": "tool", "tool_call_id": call.id, "content": result}
        for call, result in zip(message.tool_calls, RESULTS.values(), strict=True)
    ]
    answer = client.chat.completions.create(**request, tools=[WEATHER])
    assert isinstance(answer, ChatCompletion)
    assert answer.choices[0].message.content == SUMMARY
    backend.check_loop()


def test_models_of_chat_are_listed(backend: Backend, client: SGPClient) -> None:
    listed = client.chat.completions.models()
    assert listed.object == "list"
    assert {model.api_model_type for model in listed.items} == {"chat_completion"}
    assert all(model.name and model.api_model_vendor for model in listed.items)
    vendors = {model.api_model_vendor for model in listed.items}
    assert vendors >= {"sandbox", *VENDORS}
    assert backend.name in vendors


def test_models_are_listed(client: SGPClient) -> None:
    listed = list(client.models.list())
    assert "sandbox/echo" in {model.name for model in listed}


def test_coroutines_list_models(backend: Backend) -> None:
    async def ask() -> set[str]:
        async with AsyncSGPClient(**options(backend)) as client:
            listed = await client.chat.completions.models()
            return {model.api_model_vendor for model in listed.items}

    assert backend.name in asyncio.run(ask())
