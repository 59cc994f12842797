"""Every entry of the vendor table, and every feature of chat: the answer and the one event.

A row that cannot do something refuses it by name, before any call: `CANNOT` says which.
"""

import json
from collections.abc import Mapping
from typing import Any

import openai
import pytest

from tests.contract.chat.scenarios import COUNTS, SCENARIOS, Scenario
from tests.contract.chat.site import Site
from tests.contract.table import rows
from tests.support.vendors.chat.rows import CHAT_WIRES
from tests.support.vendors.chat.script import Answer, Call

#: Row -> scenario -> the field that the refusal names.
CANNOT: Mapping[str, Mapping[str, str]] = {
    "deepseek": {"structured output": "response_format"},
    "llmengine": {"structured output": "response_format"},
    "ollama": {"forced call": "tool_choice"},
    "xai": {"stop": "stop"},
}

#: What the vendor itself refuses, in its words: it depends on more than the entry can tell.
VENDOR_REFUSES: Mapping[str, Mapping[str, str]] = {
    "groq": {"structured output stream": "not supported with streaming"},
}

#: What a vendor never answers: Cohere has no word for a filter, TGI one call an answer and no text
#: beside it, and some show no thoughts.
NEVER: Mapping[str, set[str]] = {
    "azure": {"reasoning"},
    "cohere": {"filtered"},
    "openai": {"reasoning"},
    "tgi": {"parallel calls", "reasoning", "text before a call"},
}

NAMES = sorted(CHAT_WIRES)


def test_every_row_has_a_wire_that_is_tested() -> None:
    no_chat = {"sandbox", "llmengine_v1"}
    assert set(CHAT_WIRES) == {row.name for row in rows()} - no_chat


def check_event(site: Site, *, completion: int = COUNTS.completion) -> None:
    """Check that the only event has the vendor's counts."""
    event = site.gateway.event()
    assert (event.endpoint, event.status, event.source) == (
        "chat.completions",
        "completed",
        "vendor",
    )
    assert (event.prompt_tokens, event.completion_tokens) == (COUNTS.prompt, completion)
    assert event.total_tokens == event.prompt_tokens + event.completion_tokens


def check_usage(usage: Any) -> None:
    assert (usage.prompt_tokens, usage.completion_tokens) == (COUNTS.prompt, COUNTS.completion)
    assert usage.total_tokens == COUNTS.total


def calls_in(message: Any) -> list[tuple[str, str, Any]]:
    return [
        (call.type, call.function.name, json.loads(call.function.arguments))
        for call in message.tool_calls or []
    ]


def expected_calls(calls: list[Call]) -> list[tuple[str, str, Any]]:
    return [("function", call.name, call.input) for call in calls]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("row", NAMES)
def test_the_answer_and_its_event(site: Site, row: str, name: str, stream: bool) -> None:
    if name in NEVER.get(row, ()):
        pytest.skip("this vendor never answers so")
    scenario = SCENARIOS[name]
    site.says(row, scenario.answer)
    if (param := CANNOT.get(row, {}).get(name)) is not None:
        check_refused(site, row, scenario, param, stream=stream)
        return
    refusals = VENDOR_REFUSES.get(row, {})
    if words := refusals.get(name) or (stream and refusals.get(f"{name} stream")):
        with pytest.raises(openai.BadRequestError, match=words):
            site.ask(row, scenario.messages, stream=stream, **scenario.more)
        assert site.gateway.event().total_tokens == 0
        return
    completion = site.ask(row, scenario.messages, stream=stream, **scenario.more)
    (choice,) = completion.choices
    message, answer = choice.message, scenario.answer
    assert message.role == "assistant"
    assert (message.content or "") == answer.text
    assert calls_in(message) == expected_calls(answer.calls)
    ids = [call.id for call in message.tool_calls or []]
    assert len(set(ids)) == len(answer.calls)
    assert all(ids)
    assert choice.finish_reason == answer.ending
    if answer.thought:
        assert message.reasoning_content == answer.thought
    check_usage(completion.usage)
    assert len(site.vendor.asked) == 1
    check_event(site)


def check_refused(site: Site, row: str, scenario: Scenario, param: str, *, stream: bool) -> None:
    """Check that a request is refused by name before any call."""
    with pytest.raises(openai.BadRequestError) as caught:
        site.ask(row, scenario.messages, stream=stream, **scenario.more)
    assert param in (caught.value.param or "")
    assert param in caught.value.message
    assert site.vendor.asked == []


@pytest.mark.parametrize("row", NAMES)
@pytest.mark.parametrize("breaks", ["error", "hang_up"])
def test_a_stream_that_breaks_is_an_error(site: Site, row: str, breaks: Any) -> None:
    site.says(row, Answer(counts=COUNTS, breaks=breaks))
    with pytest.raises(openai.APIError):
        site.ask(row, SCENARIOS["text"].messages, stream=True)
    event = site.gateway.event()
    assert (event.endpoint, event.status) == ("chat.completions", "truncated")
    assert event.prompt_tokens > 0
    assert 0 < event.completion_tokens <= COUNTS.completion
    assert event.error_code
    assert len(site.vendor.asked) == 1


@pytest.mark.parametrize("row", NAMES)
@pytest.mark.parametrize("breaks", ["error", "hang_up"])
def test_a_whole_answer_that_breaks_is_an_error(site: Site, row: str, breaks: Any) -> None:
    site.says(row, Answer(counts=COUNTS, breaks=breaks))
    with pytest.raises(openai.InternalServerError) as caught:
        site.ask(row, SCENARIOS["text"].messages, stream=False)
    assert caught.value.status_code in (502, 503)
    event = site.gateway.event()
    assert (event.status, event.completion_tokens) == ("failed", 0)
    assert len(site.vendor.asked) == 1


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_row_without_chat_says_so(site: Site, stream: bool) -> None:
    messages: Any = SCENARIOS["text"].messages
    with pytest.raises((openai.BadRequestError, openai.NotFoundError)) as caught:
        site.client.chat.completions.create(
            model="llmengine_v1/m", messages=messages, stream=stream
        )
    assert caught.value.param == "model"
    assert site.vendor.asked == []
