"""What an answer is called, against what it is."""

from collections.abc import Callable
from typing import Any

from tests.vendors.wild.deviations import ALL, OPENAI, SSE, Deviation
from tests.vendors.wild.draft import Draft

#: Wires on which a whole answer and a stream are asked for alike.
ALIKE = (*OPENAI, "anthropic", "cohere", "v1")


def _type(value: str) -> Callable[[Draft], None]:
    def apply(draft: Draft) -> None:
        draft.headers = {**draft.headers, "content-type": value}

    return apply


def _status(status: int) -> Callable[[Draft], None]:
    def apply(draft: Draft) -> None:
        draft.status = status

    return apply


def _streams(is_so: bool, label: str = "") -> Callable[[Draft], None]:
    def apply(draft: Draft) -> None:
        draft.streams = is_so
        if label:
            draft.headers["content-type"] = label

    return apply


def _label(name: str, apply: Callable[[Draft], None], **more: Any) -> Deviation:
    values: dict[str, Any] = {"families": ALL, "stage": "sent", **more}
    return Deviation(f"label: {name}", "labels", apply=apply, **values)


FLIPPED: dict[str, Any] = {
    "stage": "said",
    "families": ALIKE,
    "excludes": frozenset({"frames", "cuts", "errors"}),
}

LABELS: tuple[Deviation, ...] = (
    _label(
        "an event stream where a whole answer was asked for",
        _streams(True),
        modes=("whole",),
        **FLIPPED,
    ),
    _label(
        "an event stream called JSON where a whole answer was asked for",
        _streams(True, "application/json"),
        modes=("whole",),
        source="openclaw/openclaw#96497",
        **FLIPPED,
    ),
    _label(
        "a whole answer where a stream was asked for",
        _streams(False),
        modes=("stream",),
        source="mistralai/mistral-vibe#619",
        **FLIPPED,
    ),
    _label(
        "a whole answer called an event stream",
        _streams(False, "text/event-stream"),
        modes=("stream",),
        **FLIPPED,
    ),
    _label("text/plain", _type("text/plain")),
    _label("application/octet-stream", _type("application/octet-stream")),
    _label("text/html", _type("text/html; charset=utf-8")),
    _label("no content type", _type("")),
    _label("a content type that is none", _type("json")),
    _label("a content type in capitals", _type("TEXT/EVENT-STREAM; CHARSET=UTF-8"), families=SSE),
    _label("an event stream called JSON", _type("application/json"), modes=("stream",)),
    _label("JSON called an event stream", _type("text/event-stream"), modes=("whole",)),
    _label("NDJSON", _type("application/x-ndjson"), modes=("stream",)),
    _label("status 201", _status(201)),
    _label("status 202", _status(202)),
)
