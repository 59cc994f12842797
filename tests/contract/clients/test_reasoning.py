"""Loops of tools with a model that thinks: the vendor gets back what it signed.

Clients that drop fields that OpenAI's API does not have cannot return it. Their loops go on, too.
"""

import asyncio
import json
from typing import Any

import httpx
import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from openai import AsyncOpenAI, OpenAI
from pydantic import SecretStr
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIChatModelSettings
from pydantic_ai.providers.openai import OpenAIProvider

from tests.contract.clients.backends import Backend
from tests.contract.clients.scenes import DEGREES, QUESTION, RESULTS, SUMMARY, WEATHER, weather
from tests.support.gateway import Gateway
from tests.support.services.program import Program
from tests.support.vendor import SimulatedVendor
from tests.support.vendors.chat.script import Answer, Call, Text, Thought

#: Vendors that sign what their models think.
SIGNING = ("anthropic", "bedrock", "gemini", "vertex_ai")

#: Three turns, each with a thought: two calls of the tool, and the answer.
TURNS = (
    *(
        Answer(
            (Thought(f"{city} first."), Call(f"call_{at}", "weather", json.dumps({"city": city})))
        )
        for at, city in enumerate(DEGREES)
    ),
    Answer((Thought("That is all."), Text(SUMMARY))),
)


@pytest.fixture(params=SIGNING)
def backend(request: pytest.FixtureRequest, served: tuple[Gateway, SimulatedVendor]) -> Backend:
    """Each of them in turn, without recorded usage."""
    gateway, vendor = served
    gateway.redis.flushall()
    vendor.asked.clear()
    return Backend(gateway, vendor, request.param)


def check_loop(backend: Backend, *, signed: bool = True) -> None:
    """Check that it took three requests; the vendor itself refuses wrong signatures."""
    assert [event.status for event in backend.gateway.events(3)] == ["completed"] * 3
    signatures = (b'"signature"', b'"thoughtSignature"')
    found = [any(name in asked.raw for name in signatures) for asked in backend.vendor.asked]
    assert found == [False, signed, signed]


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("dumped", [False, True], ids=["as it came", "dumped"])
def test_openai_s_client(backend: Backend, streams: bool, dumped: bool) -> None:
    backend.says(*TURNS)
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    url, key = backend.gateway.base_url, backend.gateway.api_key
    with OpenAI(base_url=url, api_key=key, max_retries=0) as client:
        asked: dict[str, Any] = {"model": backend.model, "tools": [WEATHER]}
        asked |= {"messages": messages, "reasoning_effort": "low", "max_completion_tokens": 9000}
        while True:
            if streams:
                with client.chat.completions.stream(**asked) as stream:
                    stream.until_done()
                    answer: Any = stream.get_final_completion()
            else:
                answer = client.chat.completions.create(**asked)
            message = answer.choices[0].message
            assert message.reasoning_content
            if not message.tool_calls:
                break
            messages.append(message.model_dump() if dumped else message)
            messages += [
                {
                    "role": "tool",
                    "tool_call_id": call.id,
                    "content": weather(**json.loads(call.function.arguments)),
                }
                for call in message.tool_calls
            ]
    assert message.content == SUMMARY
    check_loop(backend)


def run(node: Program, backend: Backend, scene: str, **given: Any) -> Any:
    """Run a scene of the loop; the model thinks."""
    more = {"text": QUESTION, "results": RESULTS, "effort": "low"}
    return node.run(scene, **backend.address, **more, **given)


def test_openai_s_client_for_node(backend: Backend, node: Program) -> None:
    backend.says(*TURNS)
    assert run(node, backend, "openai.loop") == SUMMARY
    check_loop(backend)


@pytest.mark.parametrize("streams", [False, True])
def test_its_runner(backend: Backend, node: Program, streams: bool) -> None:
    """It sends back only the fields of OpenAI's API."""
    backend.says(*TURNS)
    assert run(node, backend, "openai.tools", streams=streams) == SUMMARY
    check_loop(backend, signed=False)


@pytest.mark.parametrize("provider", ["openai", "compatible"])
@pytest.mark.parametrize("scene", ["tools", "stream_tools"])
def test_the_ai_sdk(backend: Backend, node: Program, provider: str, scene: str) -> None:
    backend.says(*TURNS)
    assert run(node, backend, f"ai.{scene}", provider=provider) == SUMMARY
    check_loop(backend, signed=False)


@pytest.mark.parametrize("scene", ["tools", "stream_tools"])
def test_the_ai_sdk_with_a_provider_named_google(
    backend: Backend, node: Program, scene: str
) -> None:
    """Under this name, it sends back Google's signatures, which are those of calls."""
    backend.says(*TURNS)
    assert run(node, backend, f"ai.{scene}", provider="compatible", name="google") == SUMMARY
    check_loop(backend, signed=backend.is_google)


def test_langchain(backend: Backend) -> None:
    backend.says(*TURNS)
    url, key = backend.gateway.base_url, backend.gateway.api_key
    asked: list[BaseMessage] = [HumanMessage(QUESTION)]
    ask = tool(weather)
    with httpx.Client() as http:
        options: dict[str, Any] = {"reasoning_effort": "low", "http_client": http, "max_retries": 0}
        model = ChatOpenAI(model=backend.model, base_url=url, api_key=SecretStr(key), **options)
        bound = model.bind_tools([ask])
        answer: Any = bound.invoke(asked)
        while answer.tool_calls:
            asked += [answer, *(ask.invoke(call) for call in answer.tool_calls)]
            answer = bound.invoke(asked)
    assert isinstance(answer, AIMessage)
    assert answer.content == SUMMARY
    check_loop(backend, signed=False)


@pytest.mark.parametrize("streams", [False, True])
def test_pydantic_ai(backend: Backend, streams: bool) -> None:
    """It sends back what came with a call, which is where Google's signatures are."""

    async def ask() -> Any:
        url, key = backend.gateway.base_url, backend.gateway.api_key
        async with AsyncOpenAI(base_url=url, api_key=key, max_retries=0) as client:
            model = OpenAIChatModel(backend.model, provider=OpenAIProvider(openai_client=client))
            settings = OpenAIChatModelSettings(openai_reasoning_effort="low")
            agent = Agent(model, tools=[weather], model_settings=settings)
            if not streams:
                return (await agent.run(QUESTION)).output
            async with agent.run_stream(QUESTION) as found:
                return await found.get_output()

    backend.says(*TURNS)
    assert asyncio.run(ask()) == SUMMARY
    check_loop(backend, signed=backend.is_google)
