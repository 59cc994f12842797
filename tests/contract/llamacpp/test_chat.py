"""Conversations get the server's own answer, whole or streamed, and its counts are recorded."""

import json
from typing import Any

import pytest

from tests.contract.llamacpp.chat import (
    check_logprobs,
    check_message,
    choices_of,
    finish_of,
    joined,
    request_of,
    streams,
    whole,
)
from tests.contract.llamacpp.served import (
    CHARACTERS,
    LETTERS,
    PROMPT,
    SAMPLED,
    Served,
    check_event,
    counts,
)
from tests.support.services.llamacpp import SLOTS
from tests.support.services.tiny_model import token_id

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"enum": ["Paris", "Oslo"]}, "is_far": {"type": "boolean"}},
    "required": ["city", "is_far"],
    "additionalProperties": False,
}
FORMAT = {"type": "json_schema", "json_schema": {"name": "place", "schema": SCHEMA, "strict": True}}


def tool(name: str) -> dict[str, Any]:
    """Return a tool that takes a city."""
    parameters = {
        "type": "object",
        "properties": {"city": {"type": "string", "enum": ["Paris", "Oslo"]}},
        "required": ["city"],
    }
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


#: The model calls the tool, and ends when it may.
CALLS: dict[str, Any] = {
    "tools": [tool("weather")],
    "tool_choice": "required",
    "max_tokens": 200,
    "logit_bias": {str(token_id("<tool_call>")): 50, str(token_id("</s>")): 60},
}
#: The same without an end: it calls again and again.
MANY_CALLS = {**CALLS, "logit_bias": {str(token_id("<tool_call>")): 50}}

LOOP = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": PROMPT},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "call_1",
                "type": "function",
                "function": {"name": "weather", "arguments": '{"city": "Oslo"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": "3 degrees"},
]

CASES: dict[str, dict[str, Any]] = {
    "as it comes": {},
    "one token": {"max_tokens": 1},
    "the limit's other name": {"max_tokens": None, "max_completion_tokens": 3},
    "sampled": SAMPLED,
    "a biased token": {"logit_bias": {"65": 100}},
    "its own end": LETTERS,
    "split characters": CHARACTERS,
    "a stop sequence": {**LETTERS, "stop": "cd"},
    "two stop sequences": {**LETTERS, "stop": ["x", "e"]},
    "several turns": {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": PROMPT},
            {"role": "assistant", "content": "sat"},
            {"role": "user", "content": [{"type": "text", "text": "on the mat"}]},
        ]
    },
    "a schema": {"response_format": FORMAT, "max_tokens": 200},
    "any JSON": {"response_format": {"type": "json_object"}, "max_tokens": 200},
    "tools that it may call": {**CALLS, "tool_choice": "auto"},
    "tools that it may not call": {**CALLS, "tool_choice": "none", "logit_bias": {}},
    "a call": CALLS,
    "calls, cut": MANY_CALLS,
    "the result of a tool": {"messages": LOOP, "tools": [tool("weather")]},
    "its own field": {"top_k": 1, "timings_per_token": True},
}


@pytest.mark.parametrize("asked", CASES.values(), ids=CASES)
def test_an_answer_is_the_server_s_own(served: Served, asked: dict[str, Any]) -> None:
    theirs, ours = whole(served, **asked)
    (choice,), (other,) = ours["choices"], theirs["choices"]
    check_message(choice["message"], other["message"])
    assert choice["finish_reason"] == other["finish_reason"]
    assert counts(ours["usage"]) == counts(theirs["usage"])
    check_event(served.gateway.event(), theirs["usage"])


@pytest.mark.parametrize("asked", CASES.values(), ids=CASES)
def test_a_stream_has_the_server_s_own_pieces(served: Served, asked: dict[str, Any]) -> None:
    theirs, ours = streams(served, **asked)
    check_message(joined(ours), joined(theirs))
    assert finish_of(ours) == finish_of(theirs)
    texts = ([c["delta"].get("content") for c in choices_of(of)] for of in (ours, theirs))
    mine, others = ([text for text in of if text] for of in texts)
    assert mine == others
    assert ours[-1]["choices"] == []
    assert counts(ours[-1]["usage"]) == counts(theirs[-1]["usage"])
    check_event(served.gateway.event(), theirs[-1]["usage"])


def test_a_call_has_the_arguments_that_its_schema_allows(served: Served) -> None:
    _, ours = whole(served, **CALLS)
    (choice,) = ours["choices"]
    calls = choice["message"]["tool_calls"]
    assert choice["finish_reason"] == "tool_calls"
    assert {call["function"]["name"] for call in calls} == {"weather"}
    cities = {json.loads(call["function"]["arguments"])["city"] for call in calls}
    assert cities <= {"Paris", "Oslo"}


def test_an_object_has_the_form_of_its_schema(served: Served) -> None:
    _, ours = whole(served, response_format=FORMAT, max_tokens=200)
    found = json.loads(ours["choices"][0]["message"]["content"])
    assert found.keys() == {"city", "is_far"}


@pytest.mark.parametrize("name", ["weather", "other"])
def test_a_named_tool_is_called_and_no_other(served: Served, name: str) -> None:
    """The server itself ignores such a choice."""
    choice = {"type": "function", "function": {"name": name}}
    asked = {**CALLS, "tools": [tool("weather"), tool("other")], "tool_choice": choice}
    theirs, ours = whole(served, **asked)
    assert "tool_calls" not in theirs["choices"][0]["message"]
    calls = ours["choices"][0]["message"]["tool_calls"]
    assert {call["function"]["name"] for call in calls} == {name}


LOGPROBS: dict[str, Any] = {"logprobs": True, "top_logprobs": 2}


@pytest.mark.parametrize("asked", [{}, CHARACTERS, {**LETTERS, "stop": "cd"}])
def test_log_probabilities_are_the_server_s_own(served: Served, asked: dict[str, Any]) -> None:
    theirs, ours = whole(served, **asked, **LOGPROBS)
    check_logprobs(ours["choices"], theirs["choices"])
    own, told = streams(served, **asked, **LOGPROBS)
    check_logprobs(list(choices_of(told)), list(choices_of(own)))


@pytest.mark.parametrize("stream", [False, True])
def test_samples_of_a_seed_are_those_that_the_server_gives(served: Served, stream: bool) -> None:
    """The server counts only the first sample, so that each is a call of its own."""
    own = json.loads(served.server.ask("/chat/completions", request_of({"n": SLOTS, **SAMPLED})))
    theirs = [choice["message"]["content"] for choice in own["choices"]]
    assert len(set(theirs)) == SLOTS
    if stream:
        _, chunks = streams(served, n=SLOTS, **SAMPLED)
        found = [joined(chunks, index)["content"] for index in range(SLOTS)]
    else:
        _, ours = whole(served, n=SLOTS, **SAMPLED)
        found = [choice["message"]["content"] for choice in ours["choices"]]
    assert found == theirs
    check_event(served.gateway.event(), *[own["usage"]] * SLOTS)
