"""Responses that end early."""

from collections.abc import Callable
from typing import Any

from tests.contract.wild.deviations import ALL, OPENAI, Deviation
from tests.contract.wild.deviations.ends import LEAVE_S
from tests.contract.wild.draft import Draft
from tests.contract.wild.truth import BROKEN, Told
from tests.support.vendor import CUT

#: Bytes before a frame's end that a cut inside of it takes at least, so that it is no whole frame.
SHORT = 5


def _cut(inside: bool, how: Callable[[Draft], None]) -> Callable[[Draft], None]:
    def apply(draft: Draft) -> None:
        lead = len(draft.pieces) - len(draft.events)
        count = draft.rng.randrange(len(draft.events))
        kept = draft.pieces[: lead + count]
        if inside:
            frame = draft.pieces[lead + count]
            kept.append(frame[: draft.rng.randrange(1, len(frame) - SHORT)])
        if not kept:
            kept = [b""]
        draft.pieces = [piece for piece in kept if piece]
        _judge(draft, count)
        draft.events = draft.events[:count]
        how(draft)

    return apply


def _judge(draft: Draft, count: int) -> None:
    """Say what a reader knows after `count` events."""
    heard = draft.heard(count)
    if heard.has_mark or (heard.all_ended and heard.is_told):
        return
    draft.truth.told = heard.told
    if heard.all_ended or heard.none_open:  # what never began may be asked for again
        draft.truth.either = True
    else:
        draft.truth.fail(*BROKEN)


def _clean(_: Draft) -> None:
    pass


def _reset(draft: Draft) -> None:
    draft.tail = [LEAVE_S, CUT]


def _closed(draft: Draft) -> None:
    draft.pieces = [b"%x\r\n%s\r\n" % (len(piece), piece) for piece in draft.pieces]
    draft.headers = {**draft.headers, "transfer-encoding": "chunked"}
    draft.framing = "close"


def _whole_cut(how: Callable[[Draft], None]) -> Callable[[Draft], None]:
    def apply(draft: Draft) -> None:
        content = b"".join(draft.pieces)
        draft.pieces = [content[: draft.rng.randrange(len(content.rstrip()) - 1)]]
        draft.truth.fail(*BROKEN)
        draft.truth.told = Told()
        draft.framing = "chunked"
        how(draft)

    return apply


HOW: dict[str, Callable[[Draft], None]] = {
    "ends well": _clean,
    "is reset": _reset,
    "is closed": _closed,
}

STREAM: dict[str, Any] = {
    "stage": "sent",
    "modes": ("stream",),
    "shape": "call",
    "breaks": True,
    "excludes": frozenset({"ends", "errors", "labels", "indices", "frames"}),
}

CUTS: tuple[Deviation, ...] = (
    *(
        Deviation(
            f"cut: between events, and the body {name}", "cuts", ALL, _cut(False, how), **STREAM
        )
        for name, how in HOW.items()
    ),
    *(
        Deviation(
            f"cut: inside an event, and the body {name}", "cuts", ALL, _cut(True, how), **STREAM
        )
        for name, how in HOW.items()
    ),
    *(
        Deviation(
            f"cut: inside JSON, and the body {name}",
            "cuts",
            (*OPENAI, "anthropic", "cohere", "google", "v1", "converse"),
            _whole_cut(how),
            **{**STREAM, "modes": ("whole",)},
        )
        for name, how in HOW.items()
    ),
)
