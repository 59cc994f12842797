"""`POST /v5/chat/completions`: what the vendor gets, and what comes back of its answer."""

from typing import Any

import pytest

from tests.support.gateway import Gateway, sse_events
from tests.support.vendor import DONE, SimulatedVendor, json_reply, stream_reply, usage_of
from tests.support.vendor_chat import call, chat_body, delta, message

USER = {"role": "user", "content": "the weather in Rome"}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
STREAM = {"stream": True, "stream_options": {"include_usage": True}}


def ask(gateway: Gateway, *messages: Any, **fields: Any) -> Any:
    """Return the JSON of a chat completion by the simulated vendor."""
    response = gateway.chat({"model": "sim/m", "messages": [USER, *messages], **fields})
    assert response.status_code == 200, response.text
    return response.json()


def chunks(gateway: Gateway, **fields: Any) -> list[Any]:
    """Return the chunks of a streamed chat completion by the simulated vendor."""
    body = {"model": "sim/m", "messages": [USER], **STREAM, **fields}
    events = sse_events(gateway.chat(body, stream=True))
    assert events[-1] == ("done", "[DONE]")
    return [body for name, body in events if name is None]


def test_a_request_goes_to_the_vendor_as_it_was_written(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    vendor.reply(json_reply(chat_body(message("hi"), usage=usage_of(5, 1))))
    fields = {"temperature": 0.5, "tools": [TOOL], "tool_choice": "auto", "top_k": 5}
    ask(gateway, max_completion_tokens=9, **fields)
    body = vendor.asked[0].body
    assert vendor.asked[0].path == "/v1/chat/completions"
    assert (body["model"], body["messages"]) == ("m", [USER])
    assert {name: body[name] for name in fields if name != "tools"} == {
        name: value for name, value in fields.items() if name != "tools"
    }
    assert {body.get("max_tokens"), body.get("max_completion_tokens")} == {None, 9}


def test_our_answer_can_come_back_with_a_result(gateway: Gateway, vendor: SimulatedVendor) -> None:
    """As the official client sends it: with every key, null in those without a value."""
    said = message(None, "tool_calls", tool_calls=[CALL], annotations=[], reasoning_content="why")
    for reply in (said, message("sunny")):
        vendor.reply(json_reply(chat_body(reply, usage=usage_of(5, 1))))
    first = ask(gateway, tools=[TOOL])["choices"][0]["message"]
    back = {**first, "audio": None, "function_call": None, "parsed": None}
    ask(gateway, back, {"role": "tool", "tool_call_id": "c1", "content": "20 C"}, tools=[TOOL])
    _, came_back, result = vendor.asked[1].body["messages"]
    assert came_back["tool_calls"] == [CALL]
    assert came_back["content"] is None
    assert {"audio", "function_call", "parsed", "refusal"}.isdisjoint(came_back)
    assert result["tool_call_id"] == "c1"


def test_what_only_the_vendor_knows_is_kept(gateway: Gateway, vendor: SimulatedVendor) -> None:
    choice = message("hi", annotations=[{"type": "x"}], reasoning_content="why")
    vendor.reply(json_reply(chat_body(choice, usage=usage_of(5, 1), citations=["u"])))
    body = ask(gateway)
    assert body["citations"] == ["u"]
    said = body["choices"][0]["message"]
    assert (said["annotations"], said["reasoning_content"]) == ([{"type": "x"}], "why")
    assert said["refusal"] is None


def test_a_stream_is_put_right(gateway: Gateway, vendor: SimulatedVendor) -> None:
    """A vendor that repeats roles, ends twice, and counts as it goes."""
    vendor.reply(
        stream_reply(
            chat_body(delta("Hel", role="assistant"), usage=usage_of(5, 1)),
            chat_body(delta("lo", role="assistant"), usage=usage_of(5, 2)),
            chat_body(delta(None, "stop", reasoning_content="why"), usage=usage_of(5, 3)),
            DONE,
        )
    )
    *said, usage = chunks(gateway)
    assert usage["choices"] == []
    assert usage["usage"]["total_tokens"] == 8
    assert all(chunk["usage"] is None for chunk in said)
    deltas = [chunk["choices"][0]["delta"] for chunk in said]
    assert [delta.get("role") for delta in deltas] == ["assistant", *[None] * (len(deltas) - 1)]
    assert "".join(delta.get("content") or "" for delta in deltas) == "Hello"
    assert "".join(delta.get("reasoning_content") or "" for delta in deltas) == "why"
    ends = [chunk["choices"][0]["finish_reason"] for chunk in said]
    assert ends == [None] * (len(ends) - 1) + ["stop"]
    assert {chunk["object"] for chunk in said} == {"chat.completion.chunk"}
    assert gateway.event().total_tokens == 8


def test_streamed_calls_begin_once_each(gateway: Gateway, vendor: SimulatedVendor) -> None:
    both = [call(0, "c1", "f", "{}"), call(1, "c2", "f", "")]
    vendor.reply(
        stream_reply(
            chat_body(delta(None, tool_calls=both)),
            chat_body(delta(None, tool_calls=[call(1, "c2", "f", "{}")])),
            chat_body(delta(None, "stop")),
            chat_body(usage=usage_of(5, 6)),
            DONE,
        )
    )
    *said, _ = chunks(gateway, tools=[TOOL])
    calls = [chunk["choices"][0]["delta"].get("tool_calls", []) for chunk in said]
    assert max(map(len, calls)) == 1
    begun = [it for some in calls for it in some if "id" in it]
    assert [(it["index"], it["id"], it["function"]["name"]) for it in begun] == [
        (0, "c1", "f"),
        (1, "c2", "f"),
    ]
    assert said[0]["choices"][0]["delta"]["content"] is None
    assert said[-1]["choices"][0] == {
        "index": 0,
        "delta": {},
        "logprobs": None,
        "finish_reason": "tool_calls",
    }


@pytest.mark.parametrize("stream", [False, True])
def test_a_refusal_has_a_field_of_its_own(
    gateway: Gateway, vendor: SimulatedVendor, stream: bool
) -> None:
    usage = usage_of(5, 1)
    if not stream:
        choice = {**message(None), "message": {"role": "assistant", "refusal": "no"}}
        vendor.reply(json_reply(chat_body(choice, usage=usage)))
        said = ask(gateway)["choices"][0]["message"]
    else:
        steps = (chat_body(delta(None, refusal="no")), chat_body(delta(None, "stop")))
        vendor.reply(stream_reply(*steps, chat_body(usage=usage), DONE))
        said = chunks(gateway)[0]["choices"][0]["delta"]
    assert (said["content"], said["refusal"]) == (None, "no")


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"messages": [{"role": "boss", "content": "x"}]}, "messages[0].role"),
        (
            {"messages": [{"role": "user", "content": [{"type": "text"}]}]},
            "messages[0].content[0].text",
        ),
        ({"tools": [], "tool_choice": "required"}, "tool_choice"),
        ({"prompt": "x"}, "prompt"),
    ],
)
def test_what_is_wrong_is_named_and_no_vendor_is_called(
    gateway: Gateway, vendor: SimulatedVendor, fields: dict[str, Any], param: str
) -> None:
    response = gateway.chat({"model": "sim/m", "messages": [USER], **fields})
    assert response.status_code == 400
    assert response.json()["error"]["param"] == param
    assert vendor.asked == []


def test_many_long_conversations_do_not_hold_others_up(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    vendor.reply(json_reply(chat_body(message("hi"), usage=usage_of(5, 1))))
    ask(gateway, *[USER] * 3000)
    assert len(vendor.asked[0].body["messages"]) == 3001


def test_a_stream_has_one_id_and_one_model(gateway: Gateway, vendor: SimulatedVendor) -> None:
    """Some vendors leave them out of some chunks, and each of several calls has its own."""
    said = [chat_body(delta("a")), chat_body(delta("b"), id="", model=None), chat_body(delta("c"))]
    vendor.reply(
        stream_reply(
            *said, chat_body(delta(None, "stop"), id="other"), chat_body(usage=usage_of(5, 1)), DONE
        )
    )
    told = {(chunk["id"], chunk["model"]) for chunk in chunks(gateway)}
    assert told == {("chatcmpl-vendor", "sim/m-2026-01-01")}
