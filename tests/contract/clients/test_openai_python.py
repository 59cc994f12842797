"""OpenAI's client for Python, and its helpers."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI, OpenAI
from openai.types import CompletionUsage
from openai.types.chat import ParsedChatCompletion

from tests.contract.clients.backends import Backend
from tests.contract.clients.scenes import (
    BOTH_CITIES,
    OBJECT,
    PLACE,
    QUESTION,
    SUMMARY,
    TEXT,
    WEATHER,
    WHERE,
    Place,
    calls,
    says,
    weather,
)
from tests.support.vendors.chat.script import Answer, Text

Messages = list[Any]


def user(text: str) -> Messages:
    return [{"role": "user", "content": text}]


@pytest.fixture
def client(backend: Backend) -> Iterator[OpenAI]:
    options: dict[str, Any] = {"max_retries": 0, "timeout": 30}
    url, key = backend.gateway.base_url, backend.gateway.api_key
    with OpenAI(base_url=url, api_key=key, **options) as client:
        yield client


@contextmanager
def asynchronous(backend: Backend) -> Iterator[Callable[..., Any]]:
    """Yield a function that runs one of the client's coroutines."""
    url, key = backend.gateway.base_url, backend.gateway.api_key

    def run(ask: Callable[[AsyncOpenAI], Any]) -> Any:
        async def asked() -> Any:
            async with AsyncOpenAI(base_url=url, api_key=key, max_retries=0) as client:
                return await ask(client)

        return asyncio.run(asked())

    yield run


def check_usage(backend: Backend, usage: CompletionUsage | None) -> None:
    assert usage is not None
    backend.check_usage(usage.prompt_tokens, usage.completion_tokens, usage.total_tokens)


def test_a_whole_answer(backend: Backend, client: OpenAI) -> None:
    backend.says(says(TEXT))
    answer = client.chat.completions.create(model=backend.model, messages=user(TEXT))
    (only,) = answer.choices
    assert (answer.object, only.index, only.finish_reason) == ("chat.completion", 0, "stop")
    assert (only.message.role, only.message.content) == ("assistant", TEXT)
    assert only.message.tool_calls is None
    check_usage(backend, answer.usage)


def test_a_stream(backend: Backend, client: OpenAI) -> None:
    backend.says(says(TEXT))
    options: Any = {"stream_options": {"include_usage": True}}
    chunks = list(
        client.chat.completions.create(
            model=backend.model, messages=user(TEXT), stream=True, **options
        )
    )
    assert {chunk.object for chunk in chunks} == {"chat.completion.chunk"}
    assert len({(chunk.id, chunk.created, chunk.model) for chunk in chunks}) == 1
    *told, last = chunks
    deltas = [choice.delta for chunk in told for choice in chunk.choices]
    assert "".join(delta.content or "" for delta in deltas) == TEXT
    assert [delta.role for delta in deltas if delta.role] == ["assistant"]
    ends = [choice.finish_reason for chunk in told for choice in chunk.choices]
    assert [end for end in ends if end] == ["stop"]
    assert [chunk.usage for chunk in told] == [None] * len(told)
    assert last.choices == []
    check_usage(backend, last.usage)


def test_a_coroutine(backend: Backend) -> None:
    async def ask(client: AsyncOpenAI) -> tuple[str | None, str]:
        asked: dict[str, Any] = {"model": backend.model, "messages": user(TEXT)}
        answer = await client.chat.completions.create(**asked)
        stream = await client.chat.completions.create(**asked, stream=True)
        pieces = [choice.delta.content or "" async for c in stream for choice in c.choices]
        return answer.choices[0].message.content, "".join(pieces)

    backend.says(says(TEXT), says(TEXT))
    with asynchronous(backend) as run:
        assert run(ask) == (TEXT, TEXT)


def answered(made: Any) -> Messages:
    """Return a message for each call, with what the tool returns."""
    results = [weather(**json.loads(call.function.arguments)) for call in made]
    return [
        {"role": "tool", "tool_call_id": call.id, "content": result}
        for call, result in zip(made, results, strict=True)
    ]


@pytest.mark.parametrize("dumped", [False, True], ids=["as it came", "dumped"])
def test_a_loop_of_tools(backend: Backend, client: OpenAI, dumped: bool) -> None:
    backend.says(*BOTH_CITIES)
    asked: dict[str, Any] = {"model": backend.model, "tools": [WEATHER]}
    messages = user(QUESTION)
    (choice,) = client.chat.completions.create(messages=messages, **asked).choices
    assert choice.finish_reason == "tool_calls"
    made = choice.message.tool_calls
    assert made is not None
    assert len({call.id for call in made}) == len(made) == 2
    messages += [choice.message.model_dump() if dumped else choice.message, *answered(made)]
    answer = client.chat.completions.create(messages=messages, **asked)
    assert (answer.choices[0].message.content, answer.choices[0].finish_reason) == (SUMMARY, "stop")
    backend.check_loop()


def streamed(client: OpenAI, **asked: Any) -> tuple[list[Any], Any]:
    """Return the events of the helper's stream, and the answer that it puts together."""
    with client.chat.completions.stream(**asked) as stream:
        events = list(stream)
        return events, stream.get_final_completion()


def test_the_helper_of_streams_runs_a_loop_of_tools(backend: Backend, client: OpenAI) -> None:
    backend.says(*BOTH_CITIES)
    asked: dict[str, Any] = {"model": backend.model, "tools": [WEATHER]}
    messages = user(QUESTION)
    events, answer = streamed(client, messages=messages, **asked)
    done = [event for event in events if event.type == "tool_calls.function.arguments.done"]
    assert [(event.index, event.name) for event in done] == [(0, "weather"), (1, "weather")]
    assert [event.parsed_arguments for event in done] == [{"city": "Paris"}, {"city": "Oslo"}]
    (choice,) = answer.choices
    assert (choice.finish_reason, choice.message.role) == ("tool_calls", "assistant")
    messages += [choice.message, *answered(choice.message.tool_calls)]
    events, answer = streamed(client, messages=messages, **asked)
    pieces = [event.delta for event in events if event.type == "content.delta"]
    assert "".join(pieces) == answer.choices[0].message.content == SUMMARY
    backend.check_loop()


def test_a_parsed_call(backend: Backend, client: OpenAI) -> None:
    backend.says(calls(("Place", PLACE)))
    answer = client.chat.completions.parse(
        model=backend.model,
        messages=user(WHERE),
        tools=[openai.pydantic_function_tool(Place)],
        tool_choice={"type": "function", "function": {"name": "Place"}},
        parallel_tool_calls=False,
    )
    found = answer.choices[0].message.tool_calls
    assert found is not None
    assert [call.function.parsed_arguments for call in found] == [PLACE]


def check_place(answer: ParsedChatCompletion[Place]) -> None:
    assert answer.choices[0].message.parsed == PLACE


def test_a_parsed_answer(backend: Backend, client: OpenAI) -> None:
    backend.says(OBJECT)
    check_place(
        client.chat.completions.parse(
            model=backend.model, messages=user(WHERE), response_format=Place
        )
    )


def test_the_helper_of_streams_parses(backend: Backend, client: OpenAI) -> None:
    backend.says(OBJECT)
    _, answer = streamed(client, model=backend.model, messages=user(WHERE), response_format=Place)
    check_place(answer)


def test_the_helpers_have_coroutines(backend: Backend) -> None:
    asked: dict[str, Any] = {
        "model": backend.model,
        "messages": user(WHERE),
        "response_format": Place,
    }

    async def ask(client: AsyncOpenAI) -> list[ParsedChatCompletion[Place]]:
        answer = await client.chat.completions.parse(**asked)
        async with client.chat.completions.stream(**asked) as stream:
            assert [event async for event in stream]
            return [answer, await stream.get_final_completion()]

    backend.says(OBJECT, OBJECT)
    with asynchronous(backend) as run:
        for answer in run(ask):
            check_place(answer)


def test_an_answer_that_is_cut_has_its_own_error(backend: Backend, client: OpenAI) -> None:
    backend.says(Answer((Text("{"),), finish="length"))
    asked: dict[str, Any] = {"model": backend.model, "response_format": Place, "max_tokens": 1}
    with pytest.raises(openai.LengthFinishReasonError):
        client.chat.completions.parse(messages=user(TEXT), **asked)
    with pytest.raises(openai.LengthFinishReasonError):
        streamed(client, messages=user(TEXT), **asked)


def test_models_are_listed(backend: Backend, client: OpenAI) -> None:
    listed = {model.id for model in client.models.list()}
    assert {"sandbox/echo", f"{backend.name}/*"} & listed
