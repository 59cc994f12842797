"""Responses in OpenAI's chat format, as bytes."""

from typing import Any

from tests.support.vendor import DONE, event, usage_of

USAGE = usage_of(11, 7)


def answer(*choices: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a whole answer, or a chunk."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_790_000_000,
        "model": "m-2026-01-01",
        "choices": list(choices),
        **more,
    }


def message(content: Any, finish: Any = "stop", index: int = 0, **more: Any) -> dict[str, Any]:
    """Return a choice of a whole answer; `more` joins its message."""
    said = {"role": "assistant", "content": content, **more}
    return {"index": index, "message": said, "finish_reason": finish}


def delta(index: int = 0, finish: Any = None, **said: Any) -> dict[str, Any]:
    """Return a piece of a choice."""
    return {"index": index, "delta": said, "finish_reason": finish}


def chunk(*choices: dict[str, Any], **more: Any) -> bytes:
    """Return a chunk as an event."""
    return event(answer(*choices, **more))


STREAM = [
    chunk(delta(role="assistant", content="")),
    chunk(delta(content="caf")),
    chunk(delta(content="é \u2028")),
    chunk(delta(finish="stop")),
    chunk(usage=USAGE),
    DONE,
]
