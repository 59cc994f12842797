"""What an OpenAI-like vendor says in chat, for the simulated vendor to say."""

from collections.abc import Mapping
from typing import Any

from tests.support.vendor import DONE, Reply, json_reply, stream_reply, usage_of


def message(text: str | None, finish: str | None = "stop", index: int = 0, **more: Any) -> Any:
    """Return a whole choice; `more` are fields of its message."""
    said = {"role": "assistant", "content": text, "refusal": None, **more}
    return {"index": index, "message": said, "logprobs": None, "finish_reason": finish}


def delta(text: str | None = None, finish: str | None = None, index: int = 0, **more: Any) -> Any:
    """Return a delta of a choice; `more` are its fields beside the content."""
    said = more if text is None else {"content": text, **more}
    return {"index": index, "delta": said, "logprobs": None, "finish_reason": finish}


def call(index: int, call_id: str | None, name: str | None, arguments: str) -> dict[str, Any]:
    """Return a piece of a tool call."""
    function = {"arguments": arguments} if name is None else {"name": name, "arguments": arguments}
    head = {} if call_id is None else {"id": call_id, "type": "function"}
    return {"index": index, **head, "function": function}


def chat_body(*choices: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return a chat.completion object with these choices, or a chunk of them."""
    is_chunk = any("delta" in choice for choice in choices) or not choices
    return {
        "id": "chatcmpl-vendor",
        "object": "chat.completion.chunk" if is_chunk else "chat.completion",
        "created": 1_790_000_000,
        "model": "m-2026-01-01",
        "choices": list(choices),
        **more,
    }


def chatted(request: Mapping[str, Any]) -> Reply:
    """Answer as OpenAI would, with three words for each choice, and 7 tokens of prompt."""
    indices = range(request.get("n") or 1)
    usage = usage_of(7, 3 * len(indices))
    if not request.get("stream"):
        return json_reply(
            chat_body(*(message("one two three", "stop", it) for it in indices), usage=usage)
        )
    begun = [chat_body(delta("", None, it, role="assistant", refusal=None)) for it in indices]
    words = [
        chat_body(delta(word, None, it)) for word in ("one", " two", " three") for it in indices
    ]
    ends = [chat_body(delta(None, "stop", it)) for it in indices]
    asked = (request.get("stream_options") or {}).get("include_usage")
    trailer = [chat_body(usage=usage)] if asked else []
    return stream_reply(*begun, *words, *ends, *trailer, DONE)
