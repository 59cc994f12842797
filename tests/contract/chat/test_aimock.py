"""A simulator that nobody here wrote, npm's `@copilotkit/aimock`, behind both doors.

What it does otherwise than its vendors (judged by their official SDKs), and what callers get here:

- Gemini: calls end with FUNCTION_CALL, which Google's SDK knows not ("is not a valid
  FinishReason"): `tool_calls` all the same. Calls are never signed, and have ids also at models
  that number none. Thoughts come unasked.
- Bedrock: a text begins with a `contentBlockStart` whose `start` is empty, and a thought with one
  that has a member of its own; Amazon's client refuses the first. Thoughts are not signed.
- Cohere: a stream with calls has a plan that is in no script ("I will use the requested tool."),
  and a whole answer has none. Thoughts come as text.
- OpenRouter: streamed thoughts come before the role, as `reasoning_content`, and in no
  `reasoning_details`.
- Anthropic: `message_start` has the tokens of the whole answer already.
- All but OpenAI: without a script for it, every count is 0. OpenAI's `n` is ignored.
- It refuses nothing: calls without results, tools without a schema, any parameter.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import openai
import pytest

from tests.contract.chat.scenarios import WEATHER
from tests.contract.chat.site import accumulated, client_of
from tests.contract.table import PATIENT, settings_of
from tests.support.gateway import Gateway, running
from tests.support.services.aimock import AIMock, aimock
from tests.support.services.valkey import Valkey

#: Vendor entry -> the path of its base URL, the model, and lines of its own.
ROWS: Mapping[str, tuple[str, str, str]] = {
    "openai": ("/v1", "gpt-4o", ""),
    "azure": ("", "gpt-4o", ""),
    "anthropic": ("/v1", "claude-haiku-4-5", ""),
    "gemini": ("/v1beta", "gemini-2.5-flash", ""),
    "vertex_ai": (
        "/v1/projects/acme/locations/global/publishers/google",
        "gemini-2.5-flash",
        'auth = "bearer"\n',
    ),
    "bedrock": ("", "anthropic.claude-sonnet-4-5-20250929-v1:0", ""),
    "cohere": ("/v2", "command-a-reasoning-08-2025", ""),
    "ollama": ("/v1", "llama3.2", ""),
    "openrouter": ("/api/v1", "anthropic/claude-haiku-4.5", ""),
}

#: Its usage has each vendor's names beside one another.
USAGE = {
    "prompt_tokens": 11,
    "completion_tokens": 7,
    "input_tokens": 11,
    "output_tokens": 7,
    "promptTokenCount": 11,
    "candidatesTokenCount": 7,
}
ROME = {"name": "weather", "arguments": '{"city":"Rome"}', "id": "callRome1"}
OSLO = {"name": "weather", "arguments": '{"city":"Oslo"}', "id": "callOslo2"}


@dataclass(frozen=True)
class Case:
    """What is answered to a message, and what of it the caller must get."""

    response: Mapping[str, Any]
    text: str = ""
    calls: tuple[str, ...] = ()
    reasoning: str = ""


CASES: Mapping[str, Case] = {
    "say text": Case(
        {"content": "One two three. Caf\u00e9 \U0001f600."}, "One two three. Caf\u00e9 \U0001f600."
    ),
    "call one": Case({"toolCalls": [ROME]}, calls=("Rome",)),
    "call both": Case({"toolCalls": [ROME, OSLO]}, calls=("Rome", "Oslo")),
    "look and call": Case({"content": "I look.", "toolCalls": [ROME]}, "I look.", ("Rome",)),
    "interleave": Case(
        {
            "blocks": [
                {"type": "text", "text": "A b."},
                {"type": "toolCall", **ROME},
                {"type": "text", "text": "C d."},
                {"type": "toolCall", **OSLO},
            ]
        },
        "A b.C d.",
        ("Rome", "Oslo"),
    ),
    "ponder": Case(
        {"content": "It is warm.", "reasoning": "Hm. So.", "reasoningSignature": "c2lnbmVk"},
        "It is warm.",
        reasoning="Hm. So.",
    ),
    "think and call": Case(
        {"toolCalls": [ROME], "reasoning": "Hm. So.", "reasoningSignature": "c2lnbmVk"},
        calls=("Rome",),
        reasoning="Hm. So.",
    ),
}


def seen(row: str, case: Case) -> Case:
    """Return what of a case the simulator sends, whose faults are above."""
    if row in ("openai", "azure"):
        return replace(case, reasoning="")  # OpenAI shows none
    if row == "cohere":
        return replace(case, text=case.reasoning + case.text, reasoning="")
    return case


def without_plan(text: str) -> str:
    """Return a text without the plan that it makes up in Cohere's streams."""
    return text.replace("I will use the requested tool.", "")


@dataclass
class Wild:
    """A gateway, and the simulator behind all its entries."""

    gateway: Gateway
    simulator: AIMock


@pytest.fixture(scope="module")
def module_wild(tmp_path_factory: pytest.TempPathFactory, valkey: Valkey) -> Iterator[Wild]:
    """One of each for all tests of this module."""
    root = tmp_path_factory.mktemp("aimock")
    fixtures: list[Any] = [
        # the first that matches answers
        {
            "match": {"userMessage": "call both", "hasToolResult": True},
            "response": {"content": "Warm.", "usage": USAGE},
        },
    ]
    fixtures += [
        {"match": {"userMessage": said}, "response": {**case.response, "usage": USAGE}}
        for said, case in CASES.items()
    ]
    fixtures += [
        {
            "match": {"userMessage": "break off"},
            "response": {"content": "One two three four five six seven eight nine ten."},
            "chunkSize": 4,
            "latency": 20,
            "truncateAfterChunks": 6,
        },
    ]
    with aimock(root, fixtures) as simulator:
        overlay = "".join(
            f'[vendors.{row}]\nbase_url = "{simulator.url}{path}"\nretries = 0\n'
            f'api_key_env = "CONTRACT_KEY"\ntimeouts = {PATIENT}\n{more}\n'
            for row, (path, _, more) in ROWS.items()
        )
        with running(settings_of(root, valkey.url, overlay)) as gateway:
            yield Wild(gateway, simulator)


@pytest.fixture
def wild(module_wild: Wild) -> Wild:
    """The same, with all state reset."""
    module_wild.gateway.redis.flushall()
    module_wild.simulator.reset()
    module_wild.simulator.chaos()
    return module_wild


def check_event(wild: Wild, endpoint: str) -> None:
    event = wild.gateway.event()
    assert (event.endpoint, event.status, event.source) == (endpoint, "completed", "vendor")
    assert (event.prompt_tokens, event.completion_tokens) == (11, 7)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("said", CASES)
@pytest.mark.parametrize("row", ROWS)
def test_a_chat(wild: Wild, row: str, said: str, stream: bool) -> None:
    case = CASES[said]
    more: dict[str, Any] = {"tools": [WEATHER]} if case.calls else {}
    with client_of(wild.gateway) as client:
        completion = accumulated(
            client,
            stream=stream,
            model=f"{row}/{ROWS[row][1]}",
            messages=[{"role": "user", "content": said}],
            max_tokens=500,
            **more,
        )
    (choice,) = completion.choices
    message = choice.message
    assert without_plan(message.content or "") == seen(row, case).text
    cities = [json.loads(call.function.arguments)["city"] for call in message.tool_calls or []]
    assert tuple(cities) == case.calls
    assert choice.finish_reason == ("tool_calls" if case.calls else "stop")
    assert (getattr(message, "reasoning_content", None) or "") == seen(row, case).reasoning
    assert (completion.usage.prompt_tokens, completion.usage.completion_tokens) == (11, 7)
    check_event(wild, "chat.completions")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("row", ROWS)
def test_a_tool_loop(wild: Wild, row: str, stream: bool) -> None:
    ask: Any = {"model": f"{row}/{ROWS[row][1]}", "tools": [WEATHER], "max_tokens": 500}
    messages: list[Any] = [{"role": "user", "content": "call both"}]
    with client_of(wild.gateway) as client:
        called = accumulated(client, stream=stream, messages=messages, **ask).choices[0].message
        messages.append(called.model_dump())
        messages += [
            {"role": "tool", "tool_call_id": call.id, "content": "warm"}
            for call in called.tool_calls
        ]
        said = accumulated(client, stream=stream, messages=messages, **ask).choices[0]
    assert (said.message.content, said.finish_reason) == ("Warm.", "stop")
    assert [event.status for event in wild.gateway.events(2)] == ["completed"] * 2
    sent = wild.simulator.journal()[-1]["body"]["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "tool"]


@pytest.mark.parametrize("row", ROWS)
def test_a_stream_that_it_breaks_off(wild: Wild, row: str) -> None:
    with client_of(wild.gateway) as client, pytest.raises(openai.APIError):
        accumulated(
            client,
            stream=True,
            model=f"{row}/{ROWS[row][1]}",
            messages=[{"role": "user", "content": "break off"}],
        )
    event = wild.gateway.event()
    assert event.status == "truncated"
    assert 0 < event.completion_tokens < 20


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("row", [row for row in ROWS if row != "ollama"])
def test_a_text_completion(wild: Wild, row: str, stream: bool) -> None:
    with client_of(wild.gateway) as client:
        ask: Any = {"model": f"{row}/{ROWS[row][1]}", "prompt": "say text", "max_tokens": 500}
        if stream:
            chunks = list(client.completions.create(**ask, stream=True))
            text = "".join(choice.text for chunk in chunks for choice in chunk.choices)
        else:
            text = client.completions.create(**ask).choices[0].text
    assert text == CASES["say text"].text
    check_event(wild, "completions")


CHAOS: Mapping[str, tuple[type[openai.APIError], int]] = {
    "dropRate": (openai.InternalServerError, 502),
    "malformedRate": (openai.InternalServerError, 502),
    "disconnectRate": (openai.InternalServerError, 502),
    "rateLimitRate": (openai.RateLimitError, 429),
}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("kind", CHAOS)
@pytest.mark.parametrize("row", ROWS)
def test_its_chaos(wild: Wild, row: str, kind: str, stream: bool) -> None:
    wild.simulator.chaos(**{kind: 1.0})
    error, status = CHAOS[kind]
    with client_of(wild.gateway) as client, pytest.raises(error) as caught:
        accumulated(
            client,
            stream=stream,
            model=f"{row}/{ROWS[row][1]}",
            messages=[{"role": "user", "content": "say text"}],
        )
    assert isinstance(caught.value, openai.APIStatusError)
    assert caught.value.status_code == status
    assert wild.gateway.event().status == "failed"
