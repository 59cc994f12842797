"""Odd ends of connections after a complete response."""

import gzip
import json
import threading
from collections.abc import Callable
from typing import Any

from tests.contract.wild.deviations import ALL, OPENAI, SSE, Deviation
from tests.contract.wild.draft import Draft, Event
from tests.contract.wild.wires.rows import SPEAKERS
from tests.support.vendor import CUT

#: How long bytes take to leave, in seconds.
LEAVE_S = 0.03


def _held_open(draft: Draft) -> None:
    """Leave the connection open, in the middle of the body by its own account.

    Where neither a mark nor a count says that the answer is whole, nobody could know: it ends well.
    """
    marked = any(event.mark for event in draft.events)
    if marked or not draft.streams or draft.truth.told.completion is not None:
        draft.tail = [threading.Event()]
    elif draft.framing == "close":
        draft.headers.pop("content-length", None)


def _reset(draft: Draft) -> None:
    """Reset the connection when all has left: a reset throws away what the kernel still holds."""
    draft.tail = [LEAVE_S, CUT]


def _no_last_chunk(draft: Draft) -> None:
    """Chunk by hand, and close without the chunk of no length."""
    draft.pieces = [b"%x\r\n%s\r\n" % (len(piece), piece) for piece in draft.pieces]
    draft.headers = {**draft.headers, "transfer-encoding": "chunked"}
    draft.framing = "close"


def _odd_chunks(draft: Draft) -> None:
    """Chunk by hand: capitals, leading zeros, extensions, and trailers."""
    forms = (b"%X\r\n%s\r\n", b"000%x\r\n%s\r\n", b'%x;name="value"\r\n%s\r\n')
    draft.pieces = [draft.rng.choice(forms) % (len(piece), piece) for piece in draft.pieces]
    draft.pieces.append(b"0\r\nx-checksum: 7\r\n\r\n")
    draft.headers = {**draft.headers, "transfer-encoding": "chunked"}
    draft.framing = "close"


def _too_long(draft: Draft) -> None:
    size = sum(map(len, draft.pieces))
    draft.headers = {**draft.headers, "content-length": str(size + draft.rng.choice((1, 99, 9999)))}
    draft.framing = "close"


def _too_long_and_open(draft: Draft) -> None:
    _too_long(draft)
    _held_open(draft)


def _by_close(draft: Draft) -> None:
    draft.framing = "close"


def _no_trailer(draft: Draft) -> None:
    """Compress, asked for or not, and leave out the check sum at the end."""
    packed = gzip.compress(b"".join(draft.pieces))
    draft.pieces = [packed[:-8]]
    draft.headers = {**draft.headers, "content-encoding": "gzip"}


def _without_mark(tail: Callable[[Draft], None] | None = None) -> Callable[[Draft], None]:
    def apply(draft: Draft) -> None:
        draft.events = [event for event in draft.events if not event.mark]
        if tail:
            tail(draft)

    return apply


def _after(*events: Any) -> Callable[[Draft], None]:
    """Send these after the mark of the end."""

    def apply(draft: Draft) -> None:
        draft.events += [Event(event) for event in events]

    return apply


def _raw_after(content: bytes) -> Callable[[Draft], None]:
    def apply(draft: Draft) -> None:
        draft.pieces.append(content)

    return apply


def _marked(text: str) -> Callable[[Draft], None]:
    def apply(draft: Draft) -> None:
        for event in draft.events:
            if event.mark:
                event.body = text

    return apply


def _mark_before_usage(draft: Draft) -> None:
    """Send the mark before the usage, both at once."""
    at = draft.last_of(lambda event: event.final and not event.ends)
    mark = draft.last_of(lambda event: event.mark)
    if at < 0 or mark != at + 1:
        return
    draft.events[at], draft.events[mark] = draft.events[mark], draft.events[at]
    draft.pieces[-2:] = [draft.pieces[-1] + draft.pieces[-2]]


def _end(name: str, apply: Callable[[Draft], None], **more: Any) -> Deviation:
    excludes = frozenset({"cuts", "errors"}) | more.pop("excludes", frozenset())
    values: dict[str, Any] = {"families": ALL, "stage": "sent", **more}
    return Deviation(f"end: {name}", "ends", apply=apply, excludes=excludes, **values)


#: Nothing but the connection may say that it ended: the last event must be whole by itself.
WHOLE_FRAMES = frozenset({"frame: the last blank line is missing"})
#: Wires whose stream has a mark of its end, which the last event is.
MARKED = (*OPENAI, "anthropic")
ERROR = {"error": {"message": "too late", "type": "server_error"}}

ENDS: tuple[Deviation, ...] = (
    _end("the connection stays open", _held_open, modes=("stream",), excludes=WHOLE_FRAMES),
    _end("reset", _reset, modes=("stream",), excludes=WHOLE_FRAMES),
    _end("no chunk of no length", _no_last_chunk),
    _end("a content length that is too large", _too_long, excludes=WHOLE_FRAMES),
    _end(
        "a content length that is too large, and the connection stays open",
        _too_long_and_open,
        excludes=WHOLE_FRAMES,
    ),
    _end("chunks with extensions and trailers", _odd_chunks),
    _end("nothing but the end of the connection", _by_close),
    _end(
        "gzip without its trailer",
        _no_trailer,
        excludes=frozenset({"label: gzip", "label: gzip, event by event", "label: identity"}),
        source="envoyproxy/ai-gateway#2260",
    ),
    _end(
        "no mark",
        _without_mark(),
        stage="spoken",
        modes=("stream",),
        families=MARKED,
        excludes=WHOLE_FRAMES,
    ),
    _end(
        "no mark, then a reset",
        _without_mark(_reset),
        stage="spoken",
        modes=("stream",),
        families=MARKED,
        excludes=WHOLE_FRAMES | {"finish: no reason", "counts"},
        source="DevDock-AI/claude-unlimited#1",
    ),
    _end(
        "no mark, then silence",
        _without_mark(_held_open),
        stage="spoken",
        modes=("stream",),
        families=MARKED,
        excludes=WHOLE_FRAMES | {"finish: no reason", "counts"},
    ),
    _end(
        "the mark twice",
        _after("[DONE]", "[DONE]"),
        stage="spoken",
        modes=("stream",),
        families=SSE,
    ),
    _end(
        "an error after the mark",
        _raw_after(b"data: " + json.dumps(ERROR).encode() + b"\n\n"),
        modes=("stream",),
        families=MARKED,
        rows=tuple(row for row in SPEAKERS if row != "llmengine"),
        excludes=WHOLE_FRAMES | {"frames", "labels"},
    ),
    _end(
        "a page after the mark",
        _raw_after(b"<html><body>502 Bad Gateway</body></html>\n\n"),
        modes=("stream",),
        families=MARKED,
        excludes=WHOLE_FRAMES | {"labels"},
    ),
    _end(
        "blanks around the mark",
        _marked("  [DONE] \t"),
        stage="spoken",
        modes=("stream",),
        families=OPENAI,
    ),
    _end(
        "the mark before the usage",
        _mark_before_usage,
        modes=("stream",),
        families=OPENAI,
        excludes=frozenset({"frames", "labels"}),
    ),
)
