"""LangChain's ChatOpenAI."""

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.tools import BaseTool, tool
from langchain_openai import ChatOpenAI

from tests.contract.clients.backends import Backend
from tests.contract.clients.scenes import (
    BOTH_CITIES,
    PLACE,
    PLACE_TEXT,
    QUESTION,
    SUMMARY,
    TEXT,
    Call,
    Place,
    Turn,
    weather,
)


def model_at(backend: Backend, **http: Any) -> ChatOpenAI:
    """Return a model whose connections the test closes: its own stay open."""
    options: dict[str, Any] = {"max_retries": 0, "timeout": 30, "stream_usage": True, **http}
    url, key = backend.gateway.base_url, backend.gateway.api_key
    return ChatOpenAI(model=backend.model, base_url=url, api_key=key, **options)


@pytest.fixture
def model(backend: Backend) -> Iterator[ChatOpenAI]:
    with httpx.Client() as http:
        yield model_at(backend, http_client=http)


def check_answer(backend: Backend, answer: BaseMessage | None) -> None:
    assert isinstance(answer, AIMessage)
    assert answer.content == TEXT
    assert answer.response_metadata["finish_reason"] == "stop"
    usage = answer.usage_metadata
    assert usage is not None
    backend.check_counts(usage["input_tokens"], usage["output_tokens"], usage["total_tokens"])


def test_a_whole_answer(backend: Backend, model: ChatOpenAI) -> None:
    backend.says(Turn(TEXT))
    check_answer(backend, model.invoke(TEXT))


def together(chunks: list[AIMessageChunk]) -> AIMessageChunk:
    """Return the sum of chunks, as LangChain adds them up."""
    whole, *others = chunks
    for chunk in others:
        whole += chunk
    return whole


def test_a_stream_counts_its_usage_once(backend: Backend, model: ChatOpenAI) -> None:
    """LangChain adds up the usage of every chunk, and joins finish reasons."""
    backend.says(Turn(TEXT))
    check_answer(backend, together(list(model.stream(TEXT))))


def test_coroutines(backend: Backend) -> None:
    async def ask() -> None:
        async with httpx.AsyncClient() as http:
            model = model_at(backend, http_async_client=http)
            check_answer(backend, await model.ainvoke(TEXT))
            check_answer(backend, together([chunk async for chunk in model.astream(TEXT)]))

    backend.says(Turn(TEXT), Turn(TEXT))
    asyncio.run(ask())


@pytest.fixture
def weather_tool() -> BaseTool:
    return tool(weather)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("strict", [None, True])
def test_a_loop_of_tools(
    backend: Backend,
    model: ChatOpenAI,
    weather_tool: BaseTool,
    stream: bool,
    strict: bool | None,
) -> None:
    def ask(messages: list[BaseMessage]) -> AIMessage:
        return together(list(bound.stream(messages))) if stream else bound.invoke(messages)

    backend.says(*BOTH_CITIES)
    bound: Any = model.bind_tools([weather_tool], strict=strict)
    messages: list[BaseMessage] = [HumanMessage(QUESTION)]
    asked = ask(messages)
    assert [call["args"] for call in asked.tool_calls] == [{"city": "Paris"}, {"city": "Oslo"}]
    messages += [asked, *(weather_tool.invoke(call) for call in asked.tool_calls)]
    assert ask(messages).content == SUMMARY
    backend.check_results()


#: How LangChain asks for a structure -> what the model then says.
STRUCTURES: dict[Any, Turn] = {
    "json_schema": Turn(PLACE_TEXT),
    "function_calling": Turn(calls=(Call("Place", PLACE.model_dump()),)),
    "json_mode": Turn(PLACE_TEXT),
}


# LangChain's own, of a message that OpenAI's client has parsed
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning")
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("method", STRUCTURES)
def test_a_structured_answer(
    backend: Backend, model: ChatOpenAI, method: Any, stream: bool
) -> None:
    backend.says(STRUCTURES[method])
    structured = model.with_structured_output(Place, method=method)
    found = list(structured.stream(PLACE_TEXT))[-1] if stream else structured.invoke(PLACE_TEXT)
    assert found == PLACE
