"""Usage objects in every format."""

from dataclasses import replace
from typing import Any

import pytest

from tests.contract.answers.parts import Part, Wire
from tests.contract.answers.site import (
    PROMPT_TOKENS,
    TEXT,
    TEXT_TOKENS,
)
from tests.support.vendor import Reply

BOTH = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


#: Stands for a number that no float can hold, which JSON can spell.
VAST: Any = "<<1e400>>"


#: What our own tokenizer counts, and how a side is marked.
OURS_IN, OURS_OUT = PROMPT_TOKENS, TEXT_TOKENS


def openai(prompt: Any = None, completion: Any = None, total: Any = None) -> dict[str, Any]:
    """Return OpenAI's usage object with these counts; None leaves one out."""
    names = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total}
    return {name: count for name, count in names.items() if count is not None}


def vast(reply: Reply) -> Reply:
    """Return the reply with its placeholder replaced by a number that no float can hold."""
    swap = f'"{VAST}"'.encode()
    body = [
        step.replace(swap, b"1e400") if isinstance(step, bytes) else step for step in reply.body
    ]
    return replace(reply, body=body)


def answer(wire: Wire, usage: Any, stream: bool) -> Reply:
    """Return a response with a text and this usage."""
    if not stream:
        return vast(wire.whole(Part(TEXT, wire.stop), usage=usage))
    end = wire.event(Part("", wire.stop), usage=usage)
    return vast(wire.stream(wire.opening(), wire.event(Part(TEXT)), end, wire.mark))
