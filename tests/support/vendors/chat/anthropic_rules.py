"""What Anthropic refuses of a conversation that has the right types."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.support.vendors.anthropic import complaints_of_sampling
from tests.support.vendors.chat.script import is_sealed, signature

Body = Mapping[str, Any]

#: Models that think as much as they see fit, and take no budget.
ADAPTIVE = re.compile(r"claude-(opus-4-[6-9]|sonnet-4-6|opus-5|sonnet-5|haiku-5|fable|mythos)")
#: Of these, those that take no budget any more.
ONLY_ADAPTIVE = re.compile(r"claude-(opus-4-[789]|opus-5|sonnet-5|haiku-5|fable|mythos)")
STRUCTURED = re.compile(r"claude-(\w+-4-[5-9]|opus-5|sonnet-5|haiku-5|fable|mythos)")

#: What schemas may not have.
KEYWORDS = {
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "multipleOf",
    "maxItems",
    "uniqueItems",
    "patternProperties",
    "oneOf",
    "not",
}


def complaints(version: str | None, body: Body) -> Iterator[str]:
    """Yield what is wrong with a request, in Anthropic's words."""
    if version not in ("2023-06-01", "2026-10-21"):
        yield "anthropic-version: header is required"
    if body["max_tokens"] < 0:
        yield "max_tokens: Input should be greater than or equal to 0"
    yield from complaints_of_sampling(version, body)
    if any(not stop.strip() for stop in body.get("stop_sequences", [])):
        yield "stop_sequences: each stop sequence must contain non-whitespace"
    yield from _of_messages(body)
    yield from _of_tools(body)
    yield from _of_thinking(body)
    yield from _of_format(body)
    marks = str(body).count("'cache_control': {")
    if marks > 4:
        yield f"A maximum of 4 blocks with cache_control may be provided. Found {marks}."


def blocks_of(content: Any) -> Sequence[Body]:
    """Return content as blocks: a text is one."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _of_messages(body: Body) -> Iterator[str]:
    messages = body["messages"]
    if not messages:
        yield "messages: at least one message is required"
    for at, block in enumerate(blocks_of(body.get("system", []))):
        if not block["text"]:
            yield f"system.{at}: text content blocks must be non-empty"
    for at, message in enumerate(messages):
        if message["role"] == "system" and not ADAPTIVE.match(body["model"]):
            yield f"messages.{at}.role: Input should be 'user' or 'assistant'"
        if not message["content"] and at + 1 < len(messages):
            yield f"messages.{at}: all messages must have non-empty content"
        for place, block in enumerate(blocks_of(message["content"])):
            if block["type"] == "text" and not block["text"].strip():
                yield f"messages.{at}.content.{place}: text content blocks must be non-empty"
    if messages and messages[0]["role"] != "user":
        yield 'messages: first message must use the "user" role'
    yield from _of_the_last(body)
    yield from _of_calls(messages)


def _of_the_last(body: Body) -> Iterator[str]:
    last = body["messages"][-1]
    if last["role"] != "assistant":
        return
    if ADAPTIVE.match(body["model"]):
        yield "This model does not support assistant message prefill."
    block = blocks_of(last["content"])[-1]
    if block["type"] == "text" and block["text"] != block["text"].rstrip():
        yield "messages: final assistant content cannot end with trailing whitespace"


def _of_calls(messages: Sequence[Body]) -> Iterator[str]:
    """Each call is answered in the next message, at its beginning, and nothing else is."""
    seen: set[str] = set()
    calls: list[str] = []
    for at, message in enumerate(messages):
        blocks = blocks_of(message["content"])
        results = [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]
        if left := set(calls) - set(results):
            yield (
                f"messages.{at - 1}: `tool_use` ids were found without `tool_result` blocks "
                f"immediately after: {', '.join(sorted(left))}."
            )
        for extra in [*(set(results) - set(calls)), *(r for r in results if results.count(r) > 1)]:
            yield f"messages.{at}: unexpected `tool_use_id` in `tool_result` blocks: {extra}."
        if any(block["type"] != "tool_result" for block in blocks[: len(results)]):
            yield f"messages.{at}: `tool_result` blocks must come first in the content."
        calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        for call in calls:
            if not re.fullmatch(r"[a-zA-Z0-9_-]+", call):
                yield f"messages.{at}: tool_use.id: String should match '^[a-zA-Z0-9_-]+$'"
            if call in seen:
                yield f"messages.{at}: `tool_use` ids must be unique"
            seen.add(call)
    if calls:
        yield "messages: `tool_use` ids were found without `tool_result` blocks immediately after"


def _of_tools(body: Body) -> Iterator[str]:
    tools = body.get("tools", [])
    names = [tool["name"] for tool in tools]
    kinds = {b["type"] for m in body["messages"] for b in blocks_of(m["content"])}
    if not tools and kinds & {"tool_use", "tool_result"}:
        yield "Requests which include `tool_use` or `tool_result` blocks must define tools"
    for at, tool in enumerate(tools):
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", tool["name"]):
            yield f"tools.{at}.custom.name: String should match '^[a-zA-Z0-9_-]{{1,128}}$'"
        if tool.get("type", "custom") == "custom" and tool["input_schema"].get("type") != "object":
            yield f"tools.{at}.custom.input_schema.type: Input should be 'object'"
    if len(names) != len(set(names)):
        yield "tools: Tool names must be unique."
    choice = body.get("tool_choice")
    if choice and not tools:
        yield "tool_choice may only be specified while providing tools."
    if choice and choice["type"] == "tool" and choice["name"] not in names:
        yield f"Tool '{choice['name']}' not found in provided tools"


def _of_thinking(body: Body) -> Iterator[str]:
    thinking = body.get("thinking") or {"type": unasked(body["model"])}
    thinks = thinking["type"] != "disabled"
    effort = (body.get("output_config") or {}).get("effort")
    yield from wrongly_off(body["model"], thinking["type"], effort)
    if thinking["type"] == "enabled":
        if ONLY_ADAPTIVE.match(body["model"]):
            yield '"thinking.type.enabled" is not supported for this model.'
        if not 1024 <= thinking["budget_tokens"] < body["max_tokens"]:
            yield "`max_tokens` must be greater than `thinking.budget_tokens`, of at least 1024."
        if body.get("tool_choice", {}).get("type") in ("any", "tool"):
            yield "Thinking may not be enabled when tool_choice forces tool use."
        if body.get("temperature", 1) != 1:
            yield "`temperature` may only be set to 1 when thinking is enabled."
    if thinking["type"] == "adaptive" and not ADAPTIVE.match(body["model"]):
        yield "adaptive thinking is not supported on this model"
    for at, message in enumerate(body["messages"]):
        blocks = blocks_of(message["content"])
        if message["role"] == "assistant":
            yield from _of_thoughts(at, blocks, thinks=thinks)
    looping = _loop(body["messages"])
    is_manual = thinking["type"] == "enabled"
    if is_manual and looping and "thinking" not in blocks_of(looping["content"])[0]["type"]:
        yield (
            "messages.content.0.type: Expected `thinking` or `redacted_thinking`, "
            "but found `tool_use`."
        )


def unasked(model: str) -> str:
    """Return how a model of Claude's thinks if a request does not say."""
    return "adaptive" if re.search(r"claude-(opus|sonnet|haiku)-5|fable|mythos", model) else OFF


OFF = "disabled"


def wrongly_off(model: str, kind: str, effort: str | None) -> Iterator[str]:
    """Yield what is wrong with a way to switch a model's thinking off."""
    if kind == OFF and re.search("opus-5-5|fable|mythos", model):
        yield '"thinking.type.disabled" is not supported for this model.'
    if kind == OFF and "sonnet-5-5" in model:
        yield 'To turn thinking off on this model, send "thinking": {"type": "between_tools"}.'
    if kind == "between_tools" and "sonnet-5-5" not in model:
        yield '"thinking.type.between_tools" is not supported for this model.'
    if kind in (OFF, "between_tools") and effort in ("xhigh", "max") and "-5" in model:
        yield f'"{kind}" is not supported at this effort.'


def _loop(messages: Sequence[Body]) -> Body | None:
    """Return the turn whose calls the last message answers."""
    if len(messages) < 2 or blocks_of(messages[-1]["content"])[0]["type"] != "tool_result":
        return None
    return messages[-2]


def _of_thoughts(at: int, blocks: Sequence[Body], *, thinks: bool) -> Iterator[str]:
    for place, block in enumerate(blocks):
        where = f"messages.{at}.content.{place}"
        if block["type"] == "thinking" and block["signature"] != signature(block["thinking"]):
            yield f"{where}: Invalid `signature` in `thinking` block"
        if block["type"] == "redacted_thinking" and not is_sealed(block["data"]):
            yield f"{where}: Invalid `data` in `redacted_thinking` block"
        if "thinking" in block["type"] and not thinks:
            yield f"{where}: thinking blocks are sent, but thinking is not enabled"


def _of_format(body: Body) -> Iterator[str]:
    config = body.get("output_config") or {}
    if config.get("effort") and not (ADAPTIVE.match(body["model"]) or "opus-4-5" in body["model"]):
        yield "This model does not support the effort parameter."
    if not (form := config.get("format")):
        return
    if not STRUCTURED.match(body["model"]):
        yield "output_config.format is not supported on this model"
    for schema in schemas_in(form["schema"]):
        if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
            yield (
                "output_config.format.schema: For 'object' type, 'additionalProperties' must be "
                "explicitly set to false"
            )
        for name in sorted(KEYWORDS & schema.keys()):
            yield f"output_config.format.schema: property '{name}' is not supported"


def schemas_in(schema: Any) -> Iterator[Body]:
    """Yield a schema and those within it; names of properties are no keywords."""
    if not isinstance(schema, dict):
        return
    yield schema
    for name, value in schema.items():
        if name in ("properties", "$defs", "definitions"):
            values = list(value.values())
        else:
            values = value if isinstance(value, list) else [value]
        for one in values:
            yield from schemas_in(one)
