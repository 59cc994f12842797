"""What OpenAI, and those that took after it, refuse of a conversation that has the right types."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.support.vendors.chat.script import signature

Body = Mapping[str, Any]


def problems_of_messages(body: Body) -> Iterator[str]:
    """Each call is answered before the next turn, and nothing else is."""
    if not body.get("messages"):
        yield "Invalid 'messages': empty array. Expected an array with minimum length 1."
    unanswered: dict[str, int] = {}
    for at, message in enumerate(body["messages"]):
        if message["role"] == "tool":
            if message["tool_call_id"] not in unanswered:
                yield (
                    f"Invalid parameter: messages[{at}] with role 'tool' must be a response to a "
                    "preceeding message with 'tool_calls'."
                )
            unanswered.pop(message["tool_call_id"], None)
            continue
        if unanswered:
            yield _unanswered(unanswered)
        unanswered = {call["id"]: at for call in message.get("tool_calls") or []}
    if unanswered:
        yield _unanswered(unanswered)


def _unanswered(calls: Mapping[str, int]) -> str:
    return (
        "An assistant message with 'tool_calls' must be followed by tool messages responding to "
        f"each 'tool_call_id'. The following tool_call_ids did not have response messages: "
        f"{', '.join(sorted(calls))}"
    )


def problems_of_tools(body: Body) -> Iterator[str]:
    """Names are words; a choice needs tools, and a named one the tool."""
    tools = body.get("tools")
    if tools == []:
        yield "Invalid 'tools': empty array. Expected an array with minimum length 1."
    names = [tool["function"]["name"] for tool in tools or [] if tool["type"] == "function"]
    for at, name in enumerate(names):
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name):
            yield f"Invalid 'tools[{at}].function.name': string does not match pattern."
    choice = body.get("tool_choice")
    if choice is not None and not tools:
        yield "'tool_choice' is only allowed when 'tools' are specified."
    named = choice.get("function", {}).get("name") if isinstance(choice, dict) else None
    if named is not None and named not in names:
        yield f"Tool choice: {named} is not one of the tools."
    if "parallel_tool_calls" in body and not tools:
        yield "'parallel_tool_calls' is only allowed when 'tools' are specified."
    form = body.get("response_format") or {}
    if form.get("type") == "json_object" and "json" not in json.dumps(body["messages"]).lower():
        yield "'messages' must contain the word 'json' in some form."


# What single vendors refuse beside this.


def openai(body: Body) -> Iterator[str]:
    """OpenAI's ids of calls are short."""
    for at, message in enumerate(body["messages"]):
        for place, call in enumerate(message.get("tool_calls") or []):
            if len(call["id"]) > 40:
                yield f"Invalid 'messages[{at}].tool_calls[{place}].id': string too long."


def together(body: Body) -> Iterator[str]:
    """Together's `logprobs` is a number."""
    if type(body.get("logprobs", 0)) is not int:
        yield "logprobs: Input should be a valid integer"


def deepseek(body: Body) -> Iterator[str]:
    """DeepSeek wants its thoughts back beside calls, and forces nobody who thinks."""
    thinks = (body.get("thinking") or {}).get("type", "enabled") == "enabled"
    for message in body["messages"]:
        if message.get("tool_calls") and thinks and "reasoning_content" not in message:
            yield "The reasoning_content in the thinking mode must be passed back to the API."
        for part in parts_of(message):
            if part["type"] not in ("text", "image_url"):
                yield f"unknown variant `{part['type']}`, expected `text` or `image_url`"
    if (body.get("response_format") or {}).get("type") == "json_schema":
        yield "This response_format type is unavailable now"
    choice = body.get("tool_choice")
    if thinks and (choice == "required" or isinstance(choice, dict)):
        yield "Thinking mode does not support this tool_choice"


def ollama(body: Body) -> Iterator[str]:
    """Ollama ignores much, which nobody would notice; it takes pictures as data alone."""
    ignored = {"max_completion_tokens", "tool_choice", "parallel_tool_calls", "n", "logit_bias"}
    for name in sorted(ignored & body.keys()):
        yield f"{name}: it would be ignored, and the caller not know"
    for message in body["messages"]:
        for part in parts_of(message):
            url = part["image_url"]["url"] if part["type"] == "image_url" else None
            if url is not None and not re.match(r"data:image/(jpe?g|png|webp);base64,", url):
                yield "invalid image input"
        for call in message.get("tool_calls") or []:
            if not is_json(call["function"]["arguments"]):
                yield "invalid tool call arguments"


def groq(body: Body) -> Iterator[str]:
    """Groq has one sample, and a schema only without tools and streams."""
    if (body.get("n") or 1) > 1:
        yield "'n' : number must be at most 1"
    schema = (body.get("response_format") or {}).get("type") == "json_schema"
    if schema and (body.get("tools") or body.get("stream")):
        yield "json_schema is not supported with streaming or tools"


def openrouter(body: Body) -> Iterator[str]:
    """OpenRouter's models want their own thoughts, unchanged."""
    for message in body["messages"]:
        for one in message.get("reasoning_details") or []:
            if one["type"] == "reasoning.text" and one.get("signature") != signature(one["text"]):
                yield "Provider returned error: Invalid `signature` in `thinking` block"


def strict_server(body: Body) -> Iterator[str]:
    """SGLang refuses null where a type has none."""
    for name in ("frequency_penalty", "presence_penalty", "logprobs", "n", "parallel_tool_calls"):
        if name in body and body[name] is None:
            yield f"{name}: Input should be valid"


def parts_of(message: Body) -> Sequence[Body]:
    """Return the parts of a message's content."""
    content = message.get("content")
    return content if isinstance(content, list) else []


def is_json(text: str) -> bool:
    """Whether a text is JSON."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
