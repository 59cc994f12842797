"""Every kind of token that a vendor counts reaches the caller and the one event."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.contract.chat.scenarios import USER
from tests.contract.chat.site import Site
from tests.support.vendors.chat.rows import CHAT_WIRES
from tests.support.vendors.chat.script import Answer, Counts, Text, Thought

#: What the vendors of foreign wires count; the others all count the last.
COUNTED: Mapping[str, Counts] = {
    "anthropic": Counts(
        prompt=1006,
        completion=50,
        cached=500,
        written=400,
        written_1h=100,
        reasoning=20,
        searches=2,
    ),
    "bedrock": Counts(prompt=1006, completion=50, cached=500, written=400, written_1h=100),
    "cohere": Counts(prompt=40, completion=50, cached=25),
    "gemini": Counts(
        prompt=240,
        completion=1150,
        cached=25,
        reasoning=20,
        image_prompt=10,
        image_completion=1120,
        tool_prompt=200,
    ),
    "": Counts(prompt=40, completion=50, cached=25, reasoning=20),
}
COUNTED = {**COUNTED, "vertex_ai": COUNTED["gemini"]}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("row", sorted(CHAT_WIRES))
def test_every_count(site: Site, row: str, stream: bool) -> None:
    counts = COUNTED.get(row, COUNTED[""])
    site.says(row, Answer((Thought("Hm."), Text("one two")), counts=counts))
    usage = site.ask(row, [USER], stream=stream).usage
    check_callers(usage, counts)
    event = site.gateway.event()
    assert (event.status, event.source) == ("completed", "vendor")
    assert counts == Counts(
        prompt=event.prompt_tokens,
        completion=event.completion_tokens,
        cached=event.cached_tokens,
        written=event.cache_write_tokens,
        written_1h=event.cache_write_1h_tokens,
        reasoning=event.reasoning_tokens,
        image_prompt=event.image_prompt_tokens,
        image_completion=event.image_completion_tokens,
        searches=event.web_search_calls,
        tool_prompt=counts.tool_prompt,  # a part of the prompt, and of no other price
    )


def check_callers(usage: Any, counts: Counts) -> None:
    """Check what the caller is told."""
    assert (usage.prompt_tokens, usage.completion_tokens) == (counts.prompt, counts.completion)
    assert usage.total_tokens == counts.total
    prompt, completion = usage.prompt_tokens_details, usage.completion_tokens_details
    assert prompt.cached_tokens == counts.cached
    assert (getattr(prompt, "cache_write_tokens", None) or 0) == counts.written
    assert (getattr(prompt, "image_tokens", None) or 0) == counts.image_prompt
    assert ((completion and completion.reasoning_tokens) or 0) == counts.reasoning
    images = getattr(completion, "image_tokens", None) or 0
    assert images == counts.image_completion
