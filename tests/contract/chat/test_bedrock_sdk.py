"""Amazon's own client holds a conversation with the simulator: a tool loop, its event streams."""

import contextlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

import botocore.exceptions
import pytest

from tests.contract.test_bedrock_sdk import signing_with
from tests.support.vendor import SimulatedVendor
from tests.support.vendors.bedrock import SECRET_KEY
from tests.support.vendors.chat.bedrock import BedrockChat
from tests.support.vendors.chat.script import Answer, Call, Counts, Text, Thought, signature
from tests.support.vendors.chat.scripted import speak

MODEL = "anthropic.claude-sonnet-4-5-20250929-v1:0"
WIRE = BedrockChat(MODEL)
THINKING = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
TOOLS: Any = {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}]}
LOOP = (
    Answer((Thought("First."), Text("I look."), Call("tooluse_1", "f", '{"a": 1}'))),
    Answer(
        (
            Thought("Next."),
            Thought("Secret.", redacted=True),
            Call("tooluse_2", "f"),
            Call("tooluse_3", "f", '{"b": "c d"}'),
        )
    ),
    Answer((Thought("Done."), Text("It is warm."))),
)
USER: Any = {"role": "user", "content": [{"text": "hi"}]}


@pytest.fixture
def client(vendor: SimulatedVendor, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.delenv("AWS_BEARER_TOKEN_BEDROCK", raising=False)
    with contextlib.closing(signing_with(vendor, SECRET_KEY)) as client:
        yield client


def accumulated(stream: Any) -> tuple[dict[str, Any], str, dict[str, Any]]:
    """Return the message, the reason and the usage of a stream, as Amazon's examples do."""
    blocks: dict[int, dict[str, Any]] = {}
    reason, usage = "", {}
    for event in stream:
        if "contentBlockStart" in event:
            start = event["contentBlockStart"]
            blocks[start["contentBlockIndex"]] = {
                "toolUse": {**start["start"]["toolUse"], "input": ""}
            }
        elif "contentBlockDelta" in event:
            at = event["contentBlockDelta"]["contentBlockIndex"]
            _add(blocks.setdefault(at, {}), event["contentBlockDelta"]["delta"])
        elif "messageStop" in event:
            reason = event["messageStop"]["stopReason"]
        elif "metadata" in event:
            usage = event["metadata"]["usage"]
    for block in blocks.values():
        if "toolUse" in block:
            block["toolUse"]["input"] = json.loads(block["toolUse"]["input"] or "{}")
    return {"role": "assistant", "content": [*blocks.values()]}, reason, usage


def _add(block: dict[str, Any], delta: Mapping[str, Any]) -> None:
    if "text" in delta:
        block["text"] = block.get("text", "") + delta["text"]
    elif "toolUse" in delta:
        block["toolUse"]["input"] += delta["toolUse"]["input"]
    elif "redactedContent" in delta["reasoningContent"]:
        block["reasoningContent"] = delta["reasoningContent"]
    else:
        thought = block.setdefault("reasoningContent", {"reasoningText": {"text": ""}})
        for name, piece in delta["reasoningContent"].items():
            text = thought["reasoningText"]
            text[name] = text.get(name, "") + piece


def ask(client: Any, messages: Any, *, streamed: bool, **more: Any) -> tuple[Any, str, Any]:
    if streamed:
        stream = client.converse_stream(modelId=MODEL, messages=messages, **more)["stream"]
        with contextlib.closing(stream):
            return accumulated(stream)
    answer = client.converse(modelId=MODEL, messages=messages, **more)
    return answer["output"]["message"], answer["stopReason"], answer["usage"]


@pytest.mark.parametrize("streamed", [False, True])
def test_a_tool_loop_brings_signatures_back(
    client: Any, vendor: SimulatedVendor, streamed: bool
) -> None:
    speak(vendor, WIRE, *LOOP)
    messages: list[Any] = [USER]
    for reason in ("tool_use", "tool_use", "end_turn"):
        message, said, _ = ask(
            client,
            messages,
            streamed=streamed,
            toolConfig=TOOLS,
            additionalModelRequestFields=THINKING,
        )
        assert said == reason
        calls = [block["toolUse"] for block in message["content"] if "toolUse" in block]
        results = [
            {"toolResult": {"toolUseId": call["toolUseId"], "content": [{"text": "x"}]}}
            for call in calls
        ]
        messages += [message, {"role": "user", "content": results}]
    assert messages[-2]["content"][-1] == {"text": "It is warm."}
    sent = vendor.asked[-1].body["messages"]
    thought = sent[1]["content"][0]["reasoningContent"]["reasoningText"]
    assert thought == {"text": "First.", "signature": signature("First.")}
    assert [next(iter(block)) for block in sent[3]["content"]] == [
        "reasoningContent",
        "reasoningContent",
        "toolUse",
        "toolUse",
    ]
    assert sent[3]["content"][3]["toolUse"]["input"] == {"b": "c d"}


@pytest.mark.parametrize("streamed", [False, True])
def test_it_reads_every_count(client: Any, vendor: SimulatedVendor, streamed: bool) -> None:
    counts = Counts(prompt=1006, completion=10, cached=500, written=400, written_1h=100)
    speak(vendor, WIRE, Answer(counts=counts))
    _, _, usage = ask(client, [USER], streamed=streamed)
    assert (usage["inputTokens"], usage["cacheReadInputTokens"]) == (106, 500)
    assert usage["cacheWriteInputTokens"] == 400
    by_ttl = {one["ttl"]: one["inputTokens"] for one in usage["cacheDetails"]}
    assert by_ttl == {"5m": 300, "1h": 100}


@pytest.mark.parametrize("breaks", ["error", "hang_up"])
def test_it_raises_what_breaks_a_stream(client: Any, vendor: SimulatedVendor, breaks: Any) -> None:
    speak(vendor, WIRE, Answer(breaks=breaks))
    with pytest.raises(Exception, match=r"overloaded|ended prematurely") as caught:
        ask(client, [USER], streamed=True)
    kind = botocore.exceptions.EventStreamError
    assert isinstance(caught.value, kind) is (breaks == "error")


CALLED: Any = {
    "role": "assistant",
    "content": [{"toolUse": {"toolUseId": "t1", "name": "f", "input": {}}}],
}
RESULT: Any = {
    "role": "user",
    "content": [{"toolResult": {"toolUseId": "t1", "content": [{"text": "x"}]}}],
}
PDF: Any = {"document": {"format": "pdf", "name": "a", "source": {"bytes": b"%PDF-"}}}


def thought(text: str) -> Any:
    reasoning = {"reasoningText": {"text": text, "signature": signature("First.")}}
    return {**CALLED, "content": [{"reasoningContent": reasoning}, *CALLED["content"]]}


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "assistant first": ({"messages": [CALLED, RESULT]}, "start with a user"),
    "users in a row": ({"messages": [USER, USER]}, "must alternate"),
    "no tools": ({"messages": [USER, CALLED, RESULT]}, "toolConfig field must be defined"),
    "unanswered": (
        {"messages": [USER, CALLED, USER], "toolConfig": TOOLS},
        "Expected toolResult blocks",
    ),
    "answers of nothing": (
        {"messages": [USER, {"role": "assistant", "content": [{"text": "x"}]}, RESULT]},
        "exceeds the number",
    ),
    "no content": ({"messages": [{"role": "user", "content": []}]}, "is empty"),
    "a blank text": ({"messages": [{"role": "user", "content": [{"text": " "}]}]}, "is blank"),
    "a document alone": ({"messages": [{"role": "user", "content": [PDF]}]}, "text block"),
    "a document's name": (
        {
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"text": "x"},
                        {"document": {**PDF["document"], "name": "a.pdf"}},
                    ],
                }
            ]
        },
        "file name",
    ),
    "an id": (
        {
            "messages": [
                USER,
                {
                    "role": "assistant",
                    "content": [{"toolUse": {"toolUseId": "a b", "name": "f", "input": {}}}],
                },
            ],
            "toolConfig": TOOLS,
        },
        "pattern",
    ),
    "a role": ({"messages": [{**USER, "role": "tool"}]}, "one of"),
    "a changed thought": (
        {
            "messages": [USER, thought("Firs."), RESULT],
            "toolConfig": TOOLS,
            "additionalModelRequestFields": THINKING,
        },
        "Invalid `signature`",
    ),
    "no thought": (
        {
            "messages": [USER, CALLED, RESULT],
            "toolConfig": TOOLS,
            "additionalModelRequestFields": THINKING,
        },
        "Expected `thinking`",
    ),
    "an open schema": (
        {
            "messages": [USER],
            "outputConfig": {
                "textFormat": {
                    "type": "json_schema",
                    "structure": {"jsonSchema": {"schema": '{"type": "object"}'}},
                }
            },
        },
        "additionalProperties",
    ),
    "a tool of no object": (
        {
            "messages": [USER],
            "toolConfig": {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {}}}}]},
        },
        "object",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_the_simulator_refuses(client: Any, vendor: SimulatedVendor, wrong: str) -> None:
    speak(vendor, WIRE, Answer())
    body, says = WRONG[wrong]
    with pytest.raises(botocore.exceptions.ClientError, match=says):
        client.converse(modelId=MODEL, **body)
