"""Odd content beside the text in formats of single vendors."""

from collections.abc import Callable
from typing import Any

from tests.contract.wild.deviations import Deviation
from tests.contract.wild.draft import Body, Draft, Event

#: Events that a wire may add at any time, and that say nothing to us: name, body.
UNKNOWN: dict[str, tuple[tuple[str | None, Body], ...]] = {
    "anthropic": (
        ("ping", {"type": "ping"}),
        ("vertex_event", {"type": "vertex_event", "x": 1}),
        ("content_block_start", {"type": "content_block_start", "index": 7, "content_block": {}}),
        (
            "content_block_delta",
            {"type": "content_block_delta", "index": 7, "delta": {"type": "citations_delta"}},
        ),
        (
            "content_block_delta",
            {
                "type": "content_block_delta",
                "index": 7,
                "delta": {"type": "thinking_delta", "thinking": "hm"},
            },
        ),
    ),
    "cohere": (
        ("debug", {"type": "debug", "prompt": "x"}),
        ("citation-start", {"type": "citation-start", "index": 0, "delta": {"message": {}}}),
        # a plan is text, which stands before calls
        ("tool-plan-delta", {"type": "tool-plan-delta", "delta": {"message": {"tool_plan": ""}}}),
        ("content-end", {"type": "content-end", "index": 9}),
    ),
    "google": (
        (None, {"candidates": []}),
        (None, {"responseId": "x", "modelVersion": "m"}),
        (None, {"promptFeedback": {"safetyRatings": []}, "candidates": []}),
        (
            None,
            {
                "candidates": [
                    {"index": 0, "content": {"parts": [{"text": "hm", "thought": True}]}},
                ]
            },
        ),
        (None, {"candidates": [{"index": 0, "content": {"role": "model"}}]}),
        (None, {"candidates": [{"index": 0, "content": {"parts": []}}]}),
    ),
    "converse": (
        ("contentBlockStart", {"contentBlockIndex": 1, "start": {}}),
        ("somethingNew", {"x": 1}),
        (
            "contentBlockDelta",
            {"contentBlockIndex": 0, "delta": {"reasoningContent": {"redactedContent": "eA=="}}},
        ),
    ),
    "v1": ((None, {"request_id": "1f", "output": None, "error": None}),),
}


def _between(name: str | None, body: Body) -> Callable[[Draft], None]:
    def apply(draft: Draft) -> None:
        last = draft.first_of(lambda event: event.ends)
        draft.events.insert(draft.rng.randrange(1, last + 1), Event(dict(body), name))

    return apply


def _no_block_stops(draft: Draft) -> None:
    """Leave out the events that only say where blocks begin and end."""
    names = ("content_block_stop", "contentBlockStop", "contentBlockStart", "content-end")
    draft.events = [event for event in draft.events if event.name not in names]


def _text_in_start(draft: Draft) -> None:
    """Say the first text in the event that begins its block."""
    at = draft.first_of(lambda event: event.says)
    piece = draft.events[at].says[0][1]
    start = next(
        event
        for event in draft.events
        if event.name == "content_block_start" and event.body["content_block"].get("type") == "text"
    )
    start.body = {**start.body, "content_block": {"type": "text", "text": piece}}
    start.says = [(0, piece)]
    del draft.events[at]


def _no_start(draft: Draft) -> None:
    """Begin without the event that begins the message; Cohere's says nothing that is counted."""
    draft.events = [event for event in draft.events if event.name != "message-start"]


def _thought_parts(draft: Draft) -> None:
    """Think in a part before the text's."""
    bodies = [draft.body] if not draft.streams else [e.body for e in draft.events if e.says]
    for body in bodies:
        for candidate in body["candidates"]:
            content = candidate["content"]
            if "parts" in content:
                content["parts"] = [{"text": "hm", "thought": True}, *content["parts"], {}]


def _split_parts(draft: Draft) -> None:
    """Say a text in two parts."""
    bodies = [draft.body] if not draft.streams else [e.body for e in draft.events if e.says]
    for body in bodies:
        for candidate in body["candidates"]:
            text = "".join(part["text"] for part in candidate["content"].get("parts", ()))
            candidate["content"]["parts"] = [{"text": text[:3]}, {"text": text[3:]}]


def _no_content(draft: Draft) -> None:
    """End with candidates that have a reason and nothing else."""
    for candidate in draft.events[-1].body["candidates"]:
        candidate.pop("content", None)


def _own(family: str, name: str, apply: Callable[[Draft], None], **more: Any) -> Deviation:
    values: dict[str, Any] = {"stage": "spoken", "modes": ("stream",), **more}
    return Deviation(f"text: {name} ({family})", "texts", (family,), apply, **values)


BOTH: dict[str, Any] = {"modes": ("stream", "whole"), "excludes": frozenset({"labels"})}
ALONE: dict[str, Any] = {"excludes": frozenset({"labels", "indices"})}
UNLABELLED: dict[str, Any] = {"excludes": frozenset({"labels"})}

OWN_TEXTS: tuple[Deviation, ...] = (
    *(
        _own(family, f"an event that says nothing, {number}", _between(name, body), **ALONE)
        for family, events in UNKNOWN.items()
        for number, (name, body) in enumerate(events, 1)
    ),
    _own("anthropic", "blocks that never stop", _no_block_stops, **UNLABELLED),
    _own(
        "converse",
        "blocks that never stop",
        _no_block_stops,
        source="maximhq/bifrost#4262",
        **UNLABELLED,
    ),
    _own("cohere", "blocks that never stop", _no_block_stops, **UNLABELLED),
    _own("anthropic", "text where its block begins", _text_in_start, **UNLABELLED),
    _own("cohere", "no beginning", _no_start, **UNLABELLED),
    _own("google", "a part of thoughts", _thought_parts, **BOTH),
    _own("google", "two parts", _split_parts, **BOTH),
    _own(
        "google", "no content at the end", _no_content, source="BerriAI/litellm#40477", **UNLABELLED
    ),
)
