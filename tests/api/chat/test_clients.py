"""The official clients, unchanged, against the sandbox: whole, streamed, with tools and schemas."""

import asyncio
import contextlib
import json
from typing import Any

import openai
import pydantic
import pytest
import scale_gp_beta
from openai import AsyncOpenAI, OpenAI
from scale_gp_beta import AsyncSGPClient, SGPClient

from tests.support.gateway import Gateway

USER: Any = {"role": "user", "content": "the weather in Rome"}
WEATHER: Any = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}
TEXT = "the weather in Rome"
ASKED: Any = {"model": "sandbox/echo", "messages": [USER]}


@pytest.fixture(params=["openai", "scale"])
def clients(request: pytest.FixtureRequest, gateway: Gateway) -> tuple[Any, Any]:
    """One official client, and its twin that is awaited."""
    named: dict[str, Any] = {"api_key": gateway.api_key, "max_retries": 0, "timeout": 30}
    if request.param == "openai":
        named["base_url"] = gateway.base_url
        return OpenAI(**named), AsyncOpenAI(**named)
    named |= {"base_url": gateway.base_url.removesuffix("/v5"), "account_id": "acme"}
    return SGPClient(**named), AsyncSGPClient(**named)


@pytest.fixture
def client(gateway: Gateway) -> OpenAI:
    """OpenAI's client."""
    return OpenAI(base_url=gateway.base_url, api_key=gateway.api_key, max_retries=0, timeout=30)


def test_a_client_reads_a_whole_answer_and_a_stream(
    clients: tuple[Any, Any], gateway: Gateway
) -> None:
    client, _ = clients
    reply = client.chat.completions.create(**ASKED)
    assert (reply.choices[0].message.content, reply.choices[0].finish_reason) == (TEXT, "stop")
    assert (reply.object, reply.usage.total_tokens) == ("chat.completion", 8)
    stream = client.chat.completions.create(
        **ASKED, stream=True, stream_options={"include_usage": True}
    )
    chunks = list(stream)
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == TEXT
    assert [c.usage.total_tokens for c in chunks if c.usage] == [8]
    assert {event.status for event in gateway.events(2)} == {"completed"}


@pytest.mark.parametrize("knobs", ["words=3", "status=429", "cut_after=1"])
def test_the_sandbox_is_recorded_by_the_name_of_its_model(
    client: OpenAI, gateway: Gateway, knobs: str
) -> None:
    model = f"sandbox/echo?{knobs}"
    for call in (
        lambda: client.chat.completions.create(model=model, messages=[USER]),
        lambda: client.completions.create(model=model, prompt=TEXT),
        lambda: list(client.chat.completions.create(model=model, messages=[USER], stream=True)),
    ):
        with contextlib.suppress(openai.APIError):
            call()
    events = gateway.events(3)
    assert {(it.vendor, it.model) for it in events} == {("sandbox", "echo")}
    assert {it.model for event in events for it in event.calls} <= {"echo"}
    assert {it.model for event in events for it in event.attempt_log} <= {"echo"}


def test_a_retry_is_seen_to_succeed(client: OpenAI, gateway: Gateway) -> None:
    """Tollgate calls three times, and then the client sends the request again."""
    retrying = client.with_options(max_retries=1)
    model = "sandbox/echo?fail_first=3"
    reply = retrying.chat.completions.create(model=model, messages=[USER])
    assert reply.choices[0].message.content == TEXT
    assert retrying.completions.create(model=model, prompt=TEXT).choices[0].text == TEXT
    events = gateway.events(4)
    assert sorted((it.status, it.attempts) for it in events) == [
        ("completed", 1),
        ("completed", 1),
        ("failed", 3),
        ("failed", 3),
    ]


def test_an_awaited_client_does_the_same(clients: tuple[Any, Any]) -> None:
    async def asked() -> tuple[str, str]:
        async with clients[1] as client:
            reply = await client.chat.completions.create(**ASKED)
            stream = await client.chat.completions.create(**ASKED, stream=True)
            deltas = [chunk.choices[0].delta.content or "" async for chunk in stream]
            return reply.choices[0].message.content, "".join(deltas)

    assert asyncio.run(asked()) == (TEXT, TEXT)


def test_scales_client_lists_the_models_for_chat(gateway: Gateway) -> None:
    """OpenAI's client has no method for it."""
    named: Any = {"api_key": gateway.api_key, "account_id": "acme"}
    named["base_url"] = gateway.base_url.removesuffix("/v5")
    with SGPClient(**named) as client:
        models: Any = client.chat.completions.models(model_vendor="sandbox", limit=10)  # type: ignore[arg-type]
    (model,) = models.items
    assert (model.name, model.api_model_type, model.api_model_vendor) == (
        "sandbox/echo",
        "chat_completion",
        "sandbox",
    )

    async def awaited() -> Any:
        async with AsyncSGPClient(**named) as client:
            return await client.chat.completions.models()

    assert asyncio.run(awaited()).items


def test_an_error_has_the_class_that_belongs_to_it(clients: tuple[Any, Any]) -> None:
    client, _ = clients
    package = openai if isinstance(client, OpenAI) else scale_gp_beta
    with pytest.raises(package.RateLimitError):
        client.chat.completions.create(**{**ASKED, "model": "sandbox/echo?status=429"})
    with pytest.raises(package.BadRequestError) as caught:
        client.chat.completions.create(model="sandbox/echo", messages=[{"role": "boss"}])
    assert "messages[0].role" in str(caught.value)


def test_a_stream_that_is_cut_is_an_error(client: OpenAI) -> None:
    stream = client.chat.completions.create(
        model="sandbox/echo?cut_after=2", messages=[USER], stream=True
    )
    with pytest.raises(openai.APIError):
        list(stream)


def test_openais_helper_streams_reasoning_text_and_calls(client: OpenAI) -> None:
    asked: Any = {**ASKED, "model": "sandbox/echo?reasoning=2&calls=2", "tools": [WEATHER]}
    with client.chat.completions.stream(**asked) as stream:
        streamed = stream.get_final_completion().choices[0]
    whole = client.chat.completions.create(**asked).choices[0]
    for choice in (streamed, whole):
        said: Any = choice.message.to_dict()
        assert (choice.finish_reason, said["content"]) == ("tool_calls", None)
        assert said["reasoning_content"] == "the weather"
        arguments = [json.loads(it["function"]["arguments"]) for it in said["tool_calls"]]
        assert arguments == [{"city": "the"}, {"city": "weather"}]


def test_a_loop_of_tools_ends_with_an_answer(client: OpenAI, gateway: Gateway) -> None:
    """The message goes back as the client dumps it, every key of it."""
    messages: list[Any] = [{"role": "user", "content": "get_weather in Rome"}]
    for _ in range(2):
        reply = client.chat.completions.create(
            model="sandbox/echo", messages=messages, tools=[WEATHER]
        ).choices[0]
        assert reply.finish_reason == "tool_calls"
        messages.append(reply.message.model_dump())
        for made in reply.message.tool_calls or ():
            messages.append({"role": "tool", "tool_call_id": made.id, "content": "20 C"})
        messages.append({"role": "user", "content": "get_weather again"})
    messages.pop()
    last = client.chat.completions.create(model="sandbox/echo", messages=messages, tools=[WEATHER])
    assert last.choices[0].message.content == "20 C"
    assert len(gateway.events(3)) == 3


class Answer(pydantic.BaseModel):
    """What the model should say."""

    city: str
    days: int | None


def test_an_answer_is_parsed(client: OpenAI) -> None:
    parsed = client.chat.completions.parse(
        model="sandbox/echo", messages=[USER], response_format=Answer
    )
    assert parsed.choices[0].message.parsed == Answer(city="the", days=0)
    with client.chat.completions.stream(
        model="sandbox/echo", messages=[USER], response_format=Answer
    ) as stream:
        final = stream.get_final_completion()
    assert final.choices[0].message.parsed == Answer(city="the", days=0)
    # What the helper made of it goes back with the message.
    back: Any = [USER, final.choices[0].message.model_dump(warnings=False), USER]
    again = client.chat.completions.create(model="sandbox/echo", messages=back)
    assert again.choices[0].message.content == TEXT


def test_log_probabilities_are_read_whole_and_streamed(client: OpenAI) -> None:
    asked: Any = {**ASKED, "logprobs": True, "top_logprobs": 1}
    whole = client.chat.completions.create(**asked).choices[0].logprobs
    assert whole is not None
    assert [it.token for it in whole.content or ()] == ["the", " weather", " in", " Rome"]
    with client.chat.completions.stream(**asked) as stream:
        streamed = stream.get_final_completion().choices[0].logprobs
    assert streamed == whole


def test_samples_keep_apart(client: OpenAI) -> None:
    stream = client.chat.completions.create(**ASKED, n=2, stream=True)
    said = {0: "", 1: ""}
    for chunk in stream:
        for choice in chunk.choices:
            said[choice.index] += choice.delta.content or ""
    assert said == {0: TEXT, 1: "weather in Rome the"}
