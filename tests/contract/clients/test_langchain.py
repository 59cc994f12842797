"""LangChain's ChatOpenAI."""

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.tools import BaseTool, tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, SecretStr

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
    calls,
    says,
    weather,
)
from tests.support.vendors.chat.script import Answer


def model_at(backend: Backend, **http: Any) -> ChatOpenAI:
    """Return a model whose connections the test closes: its own stay open."""
    options: dict[str, Any] = {"max_retries": 0, "timeout": 30, "stream_usage": True, **http}
    url, key = backend.gateway.base_url, backend.gateway.api_key
    return ChatOpenAI(model=backend.model, base_url=url, api_key=SecretStr(key), **options)


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
    backend.check_usage(usage["input_tokens"], usage["output_tokens"], usage["total_tokens"])


def test_a_whole_answer(backend: Backend, model: ChatOpenAI) -> None:
    backend.says(says(TEXT))
    check_answer(backend, model.invoke(TEXT))


def together(chunks: list[AIMessageChunk]) -> AIMessageChunk:
    """Return the sum of chunks, as LangChain adds them up."""
    whole, *others = chunks
    for chunk in others:
        whole += chunk
    return whole


def test_a_stream_counts_its_usage_once(backend: Backend, model: ChatOpenAI) -> None:
    """LangChain adds up the usage of every chunk, and joins finish reasons."""
    backend.says(says(TEXT))
    check_answer(backend, together(list(model.stream(TEXT))))


def test_coroutines(backend: Backend) -> None:
    async def ask() -> None:
        async with httpx.AsyncClient() as http:
            model = model_at(backend, http_async_client=http)
            check_answer(backend, await model.ainvoke(TEXT))
            check_answer(backend, together([chunk async for chunk in model.astream(TEXT)]))

    backend.says(says(TEXT), says(TEXT))
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
    backend.check_loop()


#: How LangChain asks for a structure -> which one, and what the model then says.
STRUCTURES: dict[Any, tuple[BaseModel, Answer]] = {
    "json_schema": (PLACE, OBJECT),
    "function_calling": (PLACE, calls(("Place", PLACE))),
    "json_mode": (SAYING, says(SAYING.model_dump_json())),
}


# LangChain's own, of a message that OpenAI's client has parsed
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning")
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("method", STRUCTURES)
def test_a_structured_answer(
    backend: Backend, model: ChatOpenAI, method: Any, stream: bool
) -> None:
    def ask() -> Any:
        return list(structured.stream(WHERE))[-1] if stream else structured.invoke(WHERE)

    value, answer = STRUCTURES[method]
    backend.says(answer)
    structured = model.with_structured_output(type(value), method=method)
    if method == "json_mode" and not backend.has_json_mode:
        with pytest.raises(openai.BadRequestError) as caught:
            ask()
        assert caught.value.param == "response_format"
        return
    assert ask() == value
