"""Arbitrary conversations, right and wrong, as callers may send them."""

from typing import Any

from hypothesis import strategies as st

from tests.support.vendors.chat.script import signature

TEXTS = st.sampled_from(["hi", " ", "", "a b ", "\u00e4\n"])
IDS = st.sampled_from(["a", "b", "call.1", "call_1", "x" * 70])
ARGUMENTS = st.sampled_from(["{}", "", '{"z":1,"a":{"b":[null]}}', '{"a":', "[1]"])
NAMES = st.sampled_from(["f", "g"])
MARKS = st.sampled_from([{}, {"cache_control": {"type": "ephemeral"}}])
URLS = st.sampled_from(["data:image/png;base64,AAAA", "https://ex.org/a.png", "file:///x"])
PDF = "data:application/pdf;base64,JVBERi0="
THOUGHT = {"type": "thinking", "thinking": "T", "signature": signature("T")}


def _text(text: str, mark: dict[str, Any]) -> dict[str, Any]:
    return {"type": "text", "text": text, **mark}


PARTS = st.one_of(
    st.builds(_text, TEXTS, MARKS),
    st.builds(lambda url: {"type": "image_url", "image_url": {"url": url}}, URLS),
    st.just({"type": "file", "file": {"filename": "a.pdf", "file_data": PDF}}),
)
CONTENTS = TEXTS | st.lists(PARTS, min_size=1, max_size=2)
CALLS = st.builds(
    lambda call_id, name, arguments: {
        "id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}},
    IDS, NAMES, ARGUMENTS,
)  # fmt: skip

INSTRUCTIONS = st.builds(
    lambda role, text: [{"role": role, "content": text}],
    st.sampled_from(["system", "developer"]),
    TEXTS,
)
QUESTIONS = st.builds(lambda content: [{"role": "user", "content": content}], CONTENTS)
ANSWERS = st.builds(lambda text: [{"role": "assistant", "content": text}], TEXTS | st.none())
STRAYS = st.builds(lambda call_id: [{"role": "tool", "tool_call_id": call_id, "content": "x"}], IDS)


def _round(
    calls: list[dict[str, Any]], text: str | None, content: Any, thoughts: list[Any]
) -> list[dict[str, Any]]:
    """Return calls and their results, in the other order."""
    said = {"role": "assistant", "content": text, "tool_calls": calls, "thinking_blocks": thoughts}
    results = [{"role": "tool", "tool_call_id": it["id"], "content": content} for it in calls]
    return [said, *reversed(results)]


ROUNDS = st.builds(
    _round,
    st.lists(CALLS, min_size=1, max_size=2, unique_by=lambda it: it["id"]),
    TEXTS | st.none(),
    TEXTS | st.lists(PARTS, min_size=1, max_size=2),
    st.sampled_from([[], [THOUGHT]]),
)
MESSAGES = st.lists(
    QUESTIONS | ROUNDS | ANSWERS | INSTRUCTIONS | STRAYS, min_size=1, max_size=5
).map(lambda groups: [message for group in groups for message in group])

#: Conversations that begin as they must.
CONVERSATIONS = st.builds(lambda rest: [{"role": "user", "content": "hi"}, *rest], MESSAGES)
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "tools": st.just([{"type": "function", "function": {"name": "f"}}]),
        "reasoning_effort": st.sampled_from(["none", "low"]),
        "max_tokens": st.just(5000),
    },
)
