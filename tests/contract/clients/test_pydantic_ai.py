"""pydantic-ai's agents."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from openai import AsyncOpenAI
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput, PromptedOutput, ToolOutput
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from tests.contract.clients.backends import Backend
from tests.contract.clients.scenes import (
    BOTH_CITIES,
    OBJECT,
    PLACE,
    QUESTION,
    SAYING,
    SUMMARY,
    TEXT,
    WHERE,
    Place,
    Saying,
    calls,
    says,
    weather,
)
from tests.support.vendors.chat.script import Answer


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """The loop in which agents run, with or without `run_sync`."""
    with asyncio.Runner() as runner:
        asyncio.set_event_loop(runner.get_loop())
        yield runner.get_loop()
        asyncio.set_event_loop(None)


@pytest.fixture
def model(backend: Backend, loop: asyncio.AbstractEventLoop) -> Iterator[OpenAIChatModel]:
    url, key = backend.gateway.base_url, backend.gateway.api_key
    client = AsyncOpenAI(base_url=url, api_key=key, max_retries=0)
    yield OpenAIChatModel(backend.model, provider=OpenAIProvider(openai_client=client))
    loop.run_until_complete(client.close())


def agent(model: OpenAIChatModel, **options: Any) -> Agent[None, Any]:
    return Agent(model, retries=0, **options)


def test_a_whole_answer(backend: Backend, model: OpenAIChatModel) -> None:
    backend.says(says(TEXT))
    found = agent(model).run_sync(TEXT)
    assert found.output == TEXT
    usage = found.usage
    backend.check_usage(usage.input_tokens, usage.output_tokens, usage.total_tokens)


def test_a_stream(
    backend: Backend, model: OpenAIChatModel, loop: asyncio.AbstractEventLoop
) -> None:
    async def ask() -> None:
        async with agent(model).run_stream(TEXT) as found:
            pieces = [piece async for piece in found.stream_text(delta=True, debounce_by=None)]
            assert "".join(pieces) == TEXT
            usage = found.usage
            backend.check_usage(usage.input_tokens, usage.output_tokens, usage.total_tokens)

    backend.says(says(TEXT))
    loop.run_until_complete(ask())


def test_an_agent_with_a_tool(backend: Backend, model: OpenAIChatModel) -> None:
    backend.says(*BOTH_CITIES)
    found = agent(model, tools=[weather], instructions="Be brief.").run_sync(QUESTION)
    assert found.output == SUMMARY
    backend.check_loop()


def test_a_streamed_agent_with_a_tool(
    backend: Backend, model: OpenAIChatModel, loop: asyncio.AbstractEventLoop
) -> None:
    async def ask() -> None:
        async with agent(model, tools=[weather]).run_stream(QUESTION) as found:
            assert await found.get_output() == SUMMARY

    backend.says(*BOTH_CITIES)
    loop.run_until_complete(ask())
    backend.check_loop()


#: How pydantic-ai asks for a structure -> which one, and what the model then says.
STRUCTURES: dict[str, tuple[Any, BaseModel, Answer]] = {
    "a tool": (ToolOutput(Place), PLACE, calls(("final_result", PLACE))),
    "a schema": (NativeOutput(Place), PLACE, OBJECT),
    "a prompt": (PromptedOutput(Saying), SAYING, says(SAYING.model_dump_json())),
}


@pytest.mark.parametrize("way", STRUCTURES)
@pytest.mark.parametrize("stream", [False, True])
def test_a_structured_answer(
    backend: Backend,
    model: OpenAIChatModel,
    loop: asyncio.AbstractEventLoop,
    way: str,
    stream: bool,
) -> None:
    output, value, answer = STRUCTURES[way]

    async def ask() -> Any:
        asked = agent(model, output_type=output)
        if not stream:
            return (await asked.run(WHERE)).output
        async with asked.run_stream(WHERE) as found:
            return await found.get_output()

    backend.says(answer)
    if way == "a prompt" and not backend.has_json_mode:  # it asks for any JSON
        with pytest.raises(ModelHTTPError, match="response_format"):
            loop.run_until_complete(ask())
        return
    assert loop.run_until_complete(ask()) == value
