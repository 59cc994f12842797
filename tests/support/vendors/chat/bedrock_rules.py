"""What Converse refuses of a conversation that has the right shape."""

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from tests.support.vendors.chat.anthropic_rules import schemas_in, unasked, wrongly_off
from tests.support.vendors.chat.script import is_sealed, signature

Body = Mapping[str, Any]

TRY = "and try again."


def complaints(model: str, body: Body) -> Iterator[str]:
    """Yield what is wrong with a request, in Bedrock's words."""
    messages = body.get("messages", [])
    if not messages or messages[0]["role"] != "user":
        yield "A conversation must start with a user message. Try again with a conversation."
    if any(first["role"] == second["role"] for first, second in pairwise(messages)):
        yield (
            "A conversation must alternate between user and assistant roles. Make sure the "
            f"conversation alternates between user and assistant roles {TRY}"
        )
    for at, message in enumerate(messages):
        yield from _of_message(at, message)
    yield from _of_calls(messages)
    yield from _of_tools(model, body)
    yield from _of_thinking(model, body)
    yield from _of_format(body)


def _of_message(at: int, message: Body) -> Iterator[str]:
    if not message["content"]:
        yield f"The content field in the Message object at messages.{at} is empty."
    for place, block in enumerate(message["content"]):
        if "text" in block and not block["text"].strip():
            yield (
                f"The text field in the ContentBlock object at messages.{at}.content.{place} is "
                f"blank. Add text to the text field, {TRY}"
            )
    kinds = [next(iter(block)) for block in message["content"]]
    after = kinds[kinds.index("toolUse") :] if "toolUse" in kinds else []
    if {"text", "reasoningContent"} & set(after):
        yield f"messages.{at}: tool use blocks come after all others"
    if "reasoningContent" in kinds[1:] and kinds[0] != "reasoningContent":
        yield f"messages.{at}: reasoning comes first"
    documents = [block["document"] for block in message["content"] if "document" in block]
    if documents and "text" not in kinds:
        yield "A text block must be included when a document block is included in a message."
    for document in documents:
        if not re.fullmatch(r"[A-Za-z0-9\-\(\)\[\]]+( [A-Za-z0-9\-\(\)\[\]]+)*", document["name"]):
            yield (
                "The document file name can only contain alphanumeric characters, whitespace "
                "characters, hyphens, parentheses, and square brackets."
            )
    if len(documents) > 5:
        yield "A message can have up to 5 documents."


def _ids(message: Body, kind: str) -> list[str]:
    return [block[kind]["toolUseId"] for block in message["content"] if kind in block]


def _of_calls(messages: Sequence[Body]) -> Iterator[str]:
    """Each call is answered in the next message, and nothing else is."""
    called: list[str] = []
    for at, message in enumerate([*messages, {"content": []}]):
        results = _ids(message, "toolResult")
        if left := set(called) - set(results):
            if at < len(messages):
                yield (
                    f"Expected toolResult blocks at messages.{at}.content for the following Ids: "
                    f"{', '.join(sorted(left))}"
                )
            else:
                yield "A conversation must not end with toolUse blocks."
        if set(results) - set(called):
            yield (
                f"The number of toolResult blocks at messages.{at}.content exceeds the number of "
                "toolUse blocks of previous turn."
            )
        called = _ids(message, "toolUse")
        for ids in (results, called):
            if len(ids) != len(set(ids)):
                yield f"messages.{at} contains duplicate Ids."


def _of_tools(model: str, body: Body) -> Iterator[str]:
    has_blocks = any(
        {"toolUse", "toolResult"} & block.keys()
        for message in body["messages"]
        for block in message["content"]
    )
    if has_blocks and "toolConfig" not in body:
        yield (
            "The toolConfig field must be defined when using toolUse and toolResult content blocks."
        )
    config = body.get("toolConfig", {"tools": []})
    specs = [tool["toolSpec"] for tool in config["tools"] if "toolSpec" in tool]
    for spec in specs:
        if spec["inputSchema"]["json"].get("type") != "object":
            yield (
                "The value at toolConfig.tools.0.toolSpec.inputSchema.json.type must be one of the "
                "following: object."
            )
        if not spec["name"][0].isalpha():
            yield "toolConfig.tools.0.toolSpec.name must begin with a letter."
    choice = config.get("toolChoice", {})
    if "tool" in choice and choice["tool"]["name"] not in [spec["name"] for spec in specs]:
        yield "toolConfig.toolChoice.tool.name is none of the tools."
    if choice.keys() & {"tool", "any"} and not re.search("anthropic|nova", model):
        yield "This model doesn't support the toolConfig.toolChoice field. Remove it " + TRY


def _of_thinking(model: str, body: Body) -> Iterator[str]:
    thinking = body.get("additionalModelRequestFields", {}).get("thinking", {})
    kind = thinking.get("type") or unasked(model)
    thinks = kind != "disabled"
    effort = body.get("outputConfig", {}).get("effort")
    yield from wrongly_off(model, kind, effort) if "anthropic" in model else ()
    if thinking.get("type") == "enabled":
        limit = body.get("inferenceConfig", {}).get("maxTokens", 2**31)
        if not 1024 <= thinking.get("budget_tokens", 0) < limit:
            yield "`max_tokens` must be greater than `thinking.budget_tokens`."
        if body.get("toolConfig", {}).get("toolChoice", {}).keys() & {"tool", "any"}:
            yield "Thinking may not be enabled when tool_choice forces tool use."
    for at, message in enumerate(body["messages"]):
        for place, block in enumerate(message["content"]):
            if "reasoningContent" in block:
                yield from _of_thought(f"messages.{at}.content.{place}", block["reasoningContent"])
                if not thinks and "anthropic" in model:
                    yield f"messages.{at}: reasoning is sent, but thinking is not enabled"
    last = body["messages"][-2:]
    looping = kind == "enabled" and len(last) == 2 and _ids(last[1], "toolResult")
    if looping and "reasoningContent" not in last[0]["content"][0]:
        yield (
            "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
            "`tool_use`."
        )


def _of_thought(where: str, thought: Body) -> Iterator[str]:
    text = thought.get("reasoningText")
    if text is not None and text.get("signature") != signature(text["text"]):
        yield f"{where}: Invalid `signature` in `thinking` block"
    if "redactedContent" in thought:
        try:
            data = base64.b64decode(thought["redactedContent"]).decode()
        except (binascii.Error, ValueError):
            data = ""
        if not is_sealed(data):
            yield f"{where}: Invalid `data` in `redacted_thinking` block"


def _of_format(body: Body) -> Iterator[str]:
    form = body.get("outputConfig", {}).get("textFormat")
    if form is None:
        return
    try:
        schema = json.loads(form["structure"]["jsonSchema"]["schema"])
    except ValueError:
        yield "outputConfig.textFormat.structure.jsonSchema.schema is not JSON."
        return
    for one in schemas_in(schema):
        if one.get("type") == "object" and one.get("additionalProperties") is not False:
            yield "For 'object' type, 'additionalProperties' must be explicitly set to false"
