"""A tool loop of three turns with reasoning: each vendor gets back exactly what it signed.

The caller is OpenAI's own client, which knows nothing of signatures: it sends its messages back as
`model_dump()` writes them. The simulated vendors refuse a signature that is missing or changed.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any

from tests.contract.chat.scenarios import COUNTS, ROME, WEATHER
from tests.contract.chat.site import Site
from tests.support.vendors.chat.rows import CHAT_WIRES
from tests.support.vendors.chat.script import Answer, Call, Text, Thought, sealed, signature

OSLO = Call("callOslo2", "weather", json.dumps({"city": "Oslo", "when": "now"}))
BERN = Call("callBern3", "weather", json.dumps({"city": "Bern"}))


def loop(*, redacted: bool) -> list[Answer]:
    """Return three answers: a call, calls side by side, a text; all thought out before."""
    hidden = [Thought("A secret.", redacted=True)] if redacted else []
    return [
        Answer((Thought("First. Where?"), Text("I look."), ROME), counts=COUNTS),
        Answer((Thought("Next."), *hidden, OSLO, BERN), counts=COUNTS),
        Answer((Thought("Done."), Text("It is warm.")), counts=COUNTS),
    ]


def anthropic_blocks(body: Any) -> list[Any]:
    """Return what came back of thinking, in each assistant turn, and what followed it."""
    return [
        [_of_anthropic(block) for block in message["content"]]
        for message in body["messages"]
        if message["role"] == "assistant"
    ]


def _of_anthropic(block: Any) -> Any:
    if block["type"] == "thinking":
        return ("thought", block["thinking"], block["signature"])
    if block["type"] == "redacted_thinking":
        return ("sealed", block["data"])
    if block["type"] == "tool_use":
        return ("call", block["name"], block["input"])
    return ("text", block["text"])


def bedrock_blocks(body: Any) -> list[Any]:
    """Return the same of Converse."""
    return [
        [_of_bedrock(block) for block in message["content"]]
        for message in body["messages"]
        if message["role"] == "assistant"
    ]


def _of_bedrock(block: Any) -> Any:
    if "reasoningContent" in block:
        thought = block["reasoningContent"]
        if "redactedContent" in thought:
            return ("sealed", thought["redactedContent"])
        return ("thought", thought["reasoningText"]["text"], thought["reasoningText"]["signature"])
    if "toolUse" in block:
        return ("call", block["toolUse"]["name"], block["toolUse"]["input"])
    return ("text", block["text"])


def gemini_parts(body: Any) -> list[Any]:
    """Return each call that came back, with its signature."""
    return [
        (part["functionCall"]["args"]["city"], part.get("thoughtSignature"))
        for content in body["contents"]
        for part in content["parts"]
        if "functionCall" in part
    ]


def reasoning_of(name: str) -> Callable[[Any], list[Any]]:
    """Return a reader of a field of assistant messages."""
    return lambda body: [
        message.get(name) for message in body["messages"] if message["role"] == "assistant"
    ]


def mistral_chunks(body: Any) -> list[Any]:
    """Return the thoughts that came back, with their signatures."""
    return [
        ("".join(one["text"] for one in chunk["thinking"]), chunk["signature"])
        for message in body["messages"]
        if message["role"] == "assistant" and isinstance(message["content"], list)
        for chunk in message["content"]
        if chunk["type"] == "thinking"
    ]


def details_of(body: Any) -> list[Any]:
    """Return OpenRouter's details that came back."""
    return [
        (one.get("text"), one.get("signature") or one.get("data"))
        for message in body["messages"]
        for one in message.get("reasoning_details") or []
    ]


def _anthropic(redacted: str) -> list[Any]:
    return [
        [
            ("thought", "First. Where?", signature("First. Where?")),
            ("text", "I look."),
            ("call", "weather", ROME.input),
        ],
        [
            ("thought", "Next.", signature("Next.")),
            ("sealed", redacted),
            ("call", "weather", OSLO.input),
            ("call", "weather", BERN.input),
        ],
    ]


def _thoughts(by: str = "") -> list[Any]:
    return [(said, signature(said, by=by)) for said in ("First. Where?", "Next.")]


def _signed(by: str = "") -> list[Any]:
    return [
        ("Rome", signature("weather", ROME.arguments, by=by)),
        ("Oslo", signature("weather", OSLO.arguments, by=by)),
        ("Bern", None),
    ]


#: Row -> the model, what reads the vendor's last request, and what must be in it.
LOOPS: Mapping[str, tuple[str, Callable[[Any], list[Any]], list[Any]]] = {
    "anthropic": ("", anthropic_blocks, _anthropic(sealed("A secret."))),
    "bedrock": ("", bedrock_blocks, _anthropic(b64encode(sealed("A secret.").encode()).decode())),
    "gemini": ("gemini-3-pro-preview", gemini_parts, _signed()),
    "vertex_ai": ("gemini-3-pro-preview", gemini_parts, _signed("vertex_ai")),
    "deepseek": ("", reasoning_of("reasoning_content"), ["First. Where?", "Next."]),
    "fireworks_ai": ("", reasoning_of("reasoning_content"), ["First. Where?", "Next."]),
    "xai": ("", reasoning_of("reasoning_content"), ["First. Where?", "Next."]),
    "sglang": ("", reasoning_of("reasoning_content"), ["First. Where?", "Next."]),
    "llamacpp": ("", reasoning_of("reasoning_content"), ["First. Where?", "Next."]),
    "llmengine": ("", reasoning_of("reasoning_content"), ["First. Where?", "Next."]),
    "groq": ("", reasoning_of("reasoning"), ["First. Where?", "Next."]),
    "ollama": ("", reasoning_of("reasoning"), ["First. Where?", "Next."]),
    "vllm": ("", reasoning_of("reasoning"), ["First. Where?", "Next."]),
    "openrouter": ("", details_of, _thoughts()),
    "mistral": ("", mistral_chunks, _thoughts("mistral")),
}


def run(site: Site, row: str, *, stream: bool) -> None:
    """Have a caller run the loop, and check what the vendor got back."""
    model, read, expected = LOOPS[row]
    wire: Any = CHAT_WIRES[row]
    site.says(row, *loop(redacted=row in ("anthropic", "bedrock")))
    messages: list[Any] = [{"role": "user", "content": "Where is it warm?"}]
    reasons = []
    for _ in range(3):
        completion = site.ask(
            row,
            messages,
            stream=stream,
            name=model or wire.model,
            tools=[WEATHER],
            reasoning_effort="high",
            max_tokens=60_000,
        )
        (choice,) = completion.choices
        reasons.append(choice.finish_reason)
        messages.append(choice.message.model_dump())
        messages += [
            {"role": "tool", "tool_call_id": call.id, "content": f"warm in {call.id}"}
            for call in choice.message.tool_calls or []
        ]
    assert reasons == ["tool_calls", "tool_calls", "stop"]
    assert messages[-1]["content"] == "It is warm."
    assert read(site.vendor.asked[-1].body) == expected
    events = site.gateway.events(3)
    assert len(events) == 3
    assert {event.completion_tokens for event in events} == {COUNTS.completion}
