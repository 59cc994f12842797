"""Wrong content types and codings of responses."""

import gzip
import json
from collections.abc import Callable
from typing import Any

from tests.contract.wild.deviations import ALL, OPENAI, SSE, Deviation
from tests.contract.wild.draft import Draft

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


def _gzip(draft: Draft) -> None:
    """Compress, though nobody asked for it."""
    draft.pieces = [gzip.compress(b"".join(draft.pieces))]
    draft.headers = {**draft.headers, "content-encoding": "gzip"}


def _gzip_by_event(draft: Draft) -> None:
    """Compress each event by itself: one member of gzip after the other."""
    draft.pieces = [gzip.compress(piece) for piece in draft.pieces]
    draft.headers = {**draft.headers, "content-encoding": "gzip"}


def _identity(draft: Draft) -> None:
    draft.headers = {**draft.headers, "content-encoding": "identity"}


def _as_list(draft: Draft) -> None:
    """Send all events as one JSON list, as Google does where nobody asks for events."""
    draft.pieces = [json.dumps([event.body for event in draft.events], indent=1).encode()]
    draft.headers["content-type"] = "application/json; charset=UTF-8"


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
    _label("gzip", _gzip, source="Wei-Shaw/claude-relay-service#1027"),
    _label(
        "gzip, event by event",
        _gzip_by_event,
        modes=("stream",),
        source="envoyproxy/ai-gateway#1927",
    ),
    _label("identity", _identity),
    _label(
        "a JSON list where a stream was asked for",
        _as_list,
        modes=("stream",),
        families=("google",),
        excludes=frozenset({"cuts", "errors", "frames", "ends"}),
        source="nyo16/nous#26, symfony/ai#1988",
    ),
    _label("status 201", _status(201)),
    _label("status 202", _status(202)),
)
