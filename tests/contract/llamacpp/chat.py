"""The same conversation with the server, directly and through Tollgate."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from tests.contract.llamacpp.served import PROMPT, Served, events_of
from tests.support.gateway import sse_events
from tests.support.services.llamacpp import MODEL

Body = dict[str, Any]

#: How far sums in another order may differ.
NEAR = 1e-3


def request_of(asked: Mapping[str, Any]) -> Body:
    """Return a request without its model, which the server ignores; None leaves a field out."""
    messages = [{"role": "user", "content": PROMPT}]
    asked = {"messages": messages, "max_tokens": 8, "temperature": 0, **asked}
    return {name: value for name, value in asked.items() if value is not None}


def whole(served: Served, **asked: Any) -> tuple[Body, Body]:
    """Return the server's own answer, and Tollgate's."""
    body = request_of(asked)
    theirs: Body = json.loads(served.server.ask("/chat/completions", body))
    response = served.gateway.chat({"model": f"llamacpp/{MODEL}", **body})
    assert response.status_code == 200, response.text
    ours: Body = response.json()
    return theirs, ours


def streams(served: Served, **asked: Any) -> tuple[list[Body], list[Body]]:
    """Return the chunks of the server's own stream, and of Tollgate's; both with usage."""
    options = {"stream": True, "stream_options": {"include_usage": True}}
    body = {**request_of(asked), **options}
    theirs = events_of(served.server.ask("/chat/completions", body))
    response = served.gateway.chat({"model": f"llamacpp/{MODEL}", **body})
    assert response.status_code == 200, response.text
    *chunks, end = sse_events(response)
    assert end[1] == "[DONE]"
    return theirs, [chunk for _, chunk in chunks]


def check_message(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> None:
    """Check that a message, or what a stream's deltas come to, is the server's own.

    The ids of its calls are random: the server's own are in another answer.
    """
    assert (ours.get("content") or "") == (theirs.get("content") or "")
    assert ours.get("reasoning_content") == theirs.get("reasoning_content")
    assert calls_of(ours) == calls_of(theirs)


def calls_of(message: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return each call's type, name and arguments; it has an id."""
    calls = message.get("tool_calls") or []
    assert all(call["id"] for call in calls)
    return [(c["type"], c["function"]["name"], c["function"]["arguments"]) for c in calls]


def joined(chunks: Sequence[Mapping[str, Any]], index: int = 0) -> Body:
    """Return the message that a stream comes to; names and ids must come once."""
    found: Body = {"content": "", "tool_calls": []}
    for delta in (choice["delta"] for choice in choices_of(chunks, index)):
        found["content"] += delta.get("content") or ""
        for piece in delta.get("tool_calls") or []:
            calls = found["tool_calls"]
            if "id" in piece:
                assert piece["index"] == len(calls)
                calls.append({**piece, "function": dict(piece["function"])})
            else:
                calls[piece["index"]]["function"]["arguments"] += piece["function"]["arguments"]
    return found


def choices_of(chunks: Sequence[Mapping[str, Any]], index: int = 0) -> Iterator[Body]:
    """Yield a choice's pieces."""
    for chunk in chunks:
        yield from (choice for choice in chunk["choices"] if choice["index"] == index)


def finish_of(chunks: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the finish reasons of a stream's first choice."""
    return [choice["finish_reason"] for choice in choices_of(chunks) if choice["finish_reason"]]


def check_logprobs(ours: Sequence[Body], theirs: Sequence[Body]) -> None:
    """Check the log probabilities of a choice, or of its pieces."""
    mine, others = (
        [entry for part in parts for entry in _entries(part)] for parts in (ours, theirs)
    )
    assert len(mine) == len(others) > 0
    for entry, other in zip(mine, others, strict=True):
        assert (entry["token"], entry["bytes"]) == (other["token"], other["bytes"])
        assert entry["logprob"] == pytest.approx(other["logprob"], abs=NEAR)
        assert [_near(top) for top in entry["top_logprobs"]] == [
            _near(top) for top in other["top_logprobs"]
        ]


def _near(top: Mapping[str, Any]) -> tuple[str, Any]:
    return top["token"], pytest.approx(top["logprob"], abs=NEAR)


def _entries(choice: Mapping[str, Any]) -> list[Body]:
    found: list[Body] = (choice.get("logprobs") or {}).get("content") or []
    return found
