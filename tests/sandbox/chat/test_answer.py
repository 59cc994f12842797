"""What the model says: the last message, calls of tools, or JSON."""

import json
from typing import Any

import pytest

from app.sandbox.chat.answer import EchoReply, count_usage, reply_to
from app.sandbox.errors import SandboxError
from tests.sandbox.chat.asking import SCHEMA, USER, called, function, load, result

WEATHER, CLOCK = function("get_weather", SCHEMA), function("get_time")


def say(**fields: Any) -> EchoReply:
    """Return the only reply to a request."""
    (reply,) = reply_to(load(**fields))
    return reply


def text(reply: EchoReply) -> str:
    """Return a reply's text."""
    return "".join(reply.pieces)


def calls(reply: EchoReply) -> list[tuple[str, Any]]:
    """Return the names and arguments of a reply's calls."""
    return [(call.name, json.loads("".join(call.pieces))) for call in reply.calls]


def test_the_last_message_comes_back() -> None:
    reply = say()
    assert (text(reply), reply.finish_reason, reply.calls) == ("the weather in Rome", "stop", ())


def test_samples_begin_with_another_word() -> None:
    assert [text(it) for it in reply_to(load(n=2))] == [
        "the weather in Rome",
        "weather in Rome the",
    ]


@pytest.mark.parametrize(
    ("fields", "said", "reason"),
    [
        ({"max_tokens": 2}, "the weather", "length"),
        ({"max_tokens": 4}, "the weather in Rome", "stop"),
        ({"stop": " in"}, "the weather", "stop"),
        ({"stop": ["Rome"], "max_tokens": 2}, "the weather", "length"),
        ({"model": "echo?words=2"}, "the weather", "stop"),
        ({"model": "echo?words=0"}, "", "stop"),
    ],
)
def test_limits_and_stops_end_it(fields: Any, said: str, reason: str) -> None:
    reply = say(**fields)
    assert (text(reply), reply.finish_reason) == (said, reason)


def test_reasoning_comes_first_and_counts() -> None:
    reply = say(model="echo?reasoning=3")
    assert "".join(reply.reasoning) == "the weather in"
    assert reply.tokens == 3 + 4
    reply = say(model="echo?reasoning=3", max_tokens=2)
    assert (len(reply.reasoning), reply.pieces, reply.finish_reason) == (2, (), "length")


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"tool_choice": "none", "model": "echo?calls=1"},
        {"messages": [USER, called("c1"), result("c1")], "tool_choice": "required"},
    ],
)
def test_tools_are_not_called_without_a_reason_nor_after_a_result(fields: Any) -> None:
    reply = say(tools=[WEATHER], **fields)
    assert (reply.calls, reply.finish_reason) == ((), "stop")


@pytest.mark.parametrize(
    "fields",
    [
        {"tool_choice": "required"},
        {"tool_choice": {"type": "function", "function": {"name": "get_weather"}}},
        {"model": "echo?calls=1"},
        {"messages": [{"role": "user", "content": "get_weather: the weather in Rome"}]},
    ],
)
def test_a_tool_is_called_if_that_is_demanded_or_it_is_named(fields: Any) -> None:
    reply = say(tools=[WEATHER, CLOCK], **fields)
    assert calls(reply) == [("get_weather", {"city": "the", "days": 1})]
    assert (reply.pieces, reply.finish_reason) == ((), "tool_calls")


def test_several_calls_have_ids_and_words_of_their_own() -> None:
    reply = say(tools=[WEATHER], model="echo?calls=3")
    assert [it[1]["city"] for it in calls(reply)] == ["the", "weather", "in"]
    assert len({call.id for call in reply.calls}) == 3
    assert reply == say(tools=[WEATHER], model="echo?calls=3")
    assert len(say(tools=[WEATHER], model="echo?calls=3", parallel_tool_calls=False).calls) == 1


def test_every_tool_that_is_named_is_called_unless_calls_are_one_at_a_time() -> None:
    asked = {"messages": [{"role": "user", "content": "get_time and get_weather"}]}
    tools = [WEATHER, CLOCK]
    assert [it[0] for it in calls(say(tools=tools, **asked))] == ["get_weather", "get_time"]
    assert len(say(tools=tools, parallel_tool_calls=False, **asked).calls) == 1


def test_a_tool_without_parameters_gets_an_empty_object_and_a_custom_one_a_text() -> None:
    assert calls(say(tools=[CLOCK], tool_choice="required")) == [("get_time", {})]
    custom = {"type": "custom", "custom": {"name": "sql"}}
    (call,) = say(tools=[custom], tool_choice="required").calls
    assert (call.type, "".join(call.pieces)) == ("custom", "the weather in Rome")


def test_a_call_that_is_cut_off_ends_with_length() -> None:
    reply = say(tools=[WEATHER], model="echo?calls=2", max_tokens=5)
    assert (len(reply.calls), reply.finish_reason, reply.tokens) == (2, "length", 5)


def test_json_fits_the_format() -> None:
    schema = {"name": "answer", "schema": SCHEMA}
    reply = say(response_format={"type": "json_schema", "json_schema": schema})
    assert json.loads(text(reply)) == {"city": "the", "days": 1}
    reply = say(response_format={"type": "json_object"})
    assert json.loads(text(reply)) == {"text": "the weather in Rome"}


def test_usage_counts_every_choice() -> None:
    request = load(n=2, model="echo?reasoning=1")
    usage = count_usage(request, reply_to(request))
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (
        4,
        10,
        14,
    )
    assert usage["completion_tokens_details"] == {"reasoning_tokens": 2}


def test_a_schema_that_is_none_is_rejected_by_the_field_that_it_is_in() -> None:
    wrong = {"type": "object", "properties": ["a"], "required": ["a"]}
    form = {"type": "json_schema", "json_schema": {"name": "it", "schema": wrong}}
    for fields, param in (
        ({"response_format": form}, "response_format"),
        ({"tools": [function("look", wrong)], "tool_choice": "required"}, "tools"),
    ):
        with pytest.raises(SandboxError, match=f"`{param}` is not a valid") as caught:
            say(**fields)
        assert (caught.value.param, caught.value.status) == (param, 400)
