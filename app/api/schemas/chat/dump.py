"""A whole chat completion as JSON, and the usage of both endpoints' chat form."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from app.api.schemas.completion import dump_usage
from app.pricing.service_tier import tier_of
from app.vocabulary.chat.reply import Reply
from app.vocabulary.chat.tools import ToolCall
from app.vocabulary.completion import Choice, Completion, Usage

#: Fields of a message that stand in for its content.
_INSTEAD = frozenset({"audio", "function_call", "images"})
_NOTHING = Reply()

#: The contract's words for how a request was served.
TIERS = frozenset({"auto", "default", "flex", "scale", "priority", "fast"})

#: OpenAI's log probability of a token that is very unlikely; the contract has no null there.
UNLIKELY = -9999.0


def dump_chat_completion(completion: Completion) -> dict[str, Any]:
    """Return the `chat.completion` object of the contract."""
    body = dump_head(completion, "chat.completion")
    body["choices"] = [_dump_choice(choice) for choice in completion.choices]
    if completion.usage is not None:
        body["usage"] = dump_chat_usage(completion.usage)
    return body


def dump_head(completion: Completion, kind: str) -> dict[str, Any]:
    """Return all of a completion, or of a chunk, but its choices and its usage."""
    body: dict[str, Any] = {
        **(completion.extra or {}),
        "id": completion.id,
        "object": kind,
        "created": completion.created,
        "model": completion.model,
        "choices": [],
    }
    if completion.system_fingerprint is not None:
        body["system_fingerprint"] = completion.system_fingerprint
    if completion.service_tier is not None:
        body |= _tier(completion.service_tier)
    return body


@lru_cache(maxsize=64)
def _tier(word: str) -> Mapping[str, str]:
    """Return the contract's word for a tier, and the vendor's own if the contract has none.

    Clients with closed types reject a response with any other word.
    """
    tier = word if word in TIERS else tier_of(word) or "default"
    return {"service_tier": tier} if tier in TIERS else {"native_service_tier": word}


def _dump_choice(choice: Choice) -> dict[str, Any]:
    reply = choice.reply or _NOTHING
    message: dict[str, Any] = {
        **(reply.extra or {}),
        "role": "assistant",
        "content": _dump_content(choice),
        "refusal": reply.refusal or None,
    }
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    if reply.tool_calls:
        message["tool_calls"] = [_dump_call(call) for call in reply.tool_calls]
    body = {
        **(choice.extra or {}),
        "index": choice.index,
        "message": message,
        "logprobs": dump_logprobs(choice.logprobs),
        "finish_reason": choice.finish_reason,
    }
    if choice.native_finish_reason is not None:
        body["native_finish_reason"] = choice.native_finish_reason
    return body


def _dump_content(choice: Choice) -> str | None:
    """Return the content of a message; null if something else stands in for it, or a filter."""
    reply = choice.reply
    if choice.text:
        return choice.text
    if choice.finish_reason == "content_filter":
        return None
    if reply is None:
        return ""
    is_replaced = reply.tool_calls or reply.refusal or _INSTEAD.intersection(reply.extra or ())
    return None if is_replaced else ""


def dump_logprobs(logprobs: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return a choice's log probabilities with both lists that the contract requires.

    Where a vendor has no number for a token, for example minus infinity, it is UNLIKELY.
    """
    if logprobs is None:
        return None
    told = {"content": None, "refusal": None, **logprobs}
    for name in ("content", "refusal"):
        if told[name]:
            told[name] = [_scored(entry) for entry in told[name]]
    return told


def _scored(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a token whose log probability, and those of its alternatives, are numbers."""
    top = entry.get("top_logprobs") or []
    if all(type(it.get("logprob")) in (int, float) for it in (entry, *top)):
        return entry
    return {**_number_in(entry), "top_logprobs": [_number_in(it) for it in top]}


def _number_in(entry: Mapping[str, Any]) -> dict[str, Any]:
    logprob = entry.get("logprob")
    return {**entry, "logprob": logprob if type(logprob) in (int, float) else UNLIKELY}


def _dump_call(call: ToolCall) -> dict[str, Any]:
    body = {**(call.extra or {}), "id": call.id or "", "type": call.type}
    if call.type == "custom":
        body["custom"] = {"name": call.name or "", "input": call.arguments}
    else:
        body["function"] = {"name": call.name or "", "arguments": call.arguments}
    return body


def dump_chat_usage(usage: Usage) -> dict[str, Any]:
    """Return the contract's CompletionUsage, with the details that chat alone has.

    Tokens of images are there only if there are any.
    """
    body = dump_usage(usage)
    prompt, completion = body["prompt_tokens_details"], body["completion_tokens_details"]
    prompt["cache_write_tokens"] = usage.cache_write_tokens
    if usage.image_prompt_tokens:
        prompt["image_tokens"] = usage.image_prompt_tokens
    if usage.image_completion_tokens:
        completion["image_tokens"] = usage.image_completion_tokens
    return body
