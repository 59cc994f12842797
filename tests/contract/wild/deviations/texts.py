"""Invalid and split characters in texts."""

import json
from typing import Any

from tests.contract.wild.deviations import ALL, OPENAI, Deviation
from tests.contract.wild.draft import Draft
from tests.contract.wild.wires.rows import SPEAKERS


def _halves(draft: Draft) -> None:
    """Cut an emoji into its two surrogates, one a piece."""
    for sample in draft.truth.samples:
        at = draft.rng.randrange(len(sample.pieces) - 1)
        sample.pieces[at] += "\ud83d"
        sample.pieces[at + 1] = "\ude42" + sample.pieces[at + 1]
        sample.fuzzy = True


def _lone(draft: Draft) -> None:
    """Say half an emoji, and never the other half."""
    for sample in draft.truth.samples:
        sample.pieces[-1] += draft.rng.choice(("\ud83d", "\ude42"))
        sample.fuzzy = True


def _cut_bytes(draft: Draft) -> None:
    """Cut an emoji's bytes into two events, so that neither is valid UTF-8."""
    emoji = "🙂".encode()
    for at, event in enumerate(draft.events):
        if event.says:
            marker = json.dumps(event.says[0][1])[1:-1].encode()
            if marker in draft.pieces[at]:
                draft.pieces[at] = draft.pieces[at].replace(marker, marker + emoji[:2], 1)
    for sample in draft.truth.samples:
        sample.fuzzy = True


def _nul(draft: Draft) -> None:
    for sample in draft.truth.samples:
        sample.pieces[-1] += "\0\x07\x1b"


def _empty(draft: Draft) -> None:
    """Say nothing at all, which was counted all the same."""
    for sample in draft.truth.samples:
        sample.pieces, sample.finish = [""], "?"


def _long(draft: Draft) -> None:
    for sample in draft.truth.samples:
        sample.pieces[-1] += "x" * draft.rng.choice((70_000, 300_000))


def _text(name: str, families: tuple[str, ...], apply: Any, **more: Any) -> Deviation:
    return Deviation(f"text: {name}", "texts", families, apply, **more)


#: Told by the events' own text, which is not what a cut leaves of it.
UNCUT = frozenset({"cuts", "errors"})

#: Rows whose simulated vendor can write half a character at all.
ENCODED = tuple(row for row in SPEAKERS if row not in ("llamacpp", "gemini", "vertex_ai"))

TEXTS: tuple[Deviation, ...] = (
    _text(
        "a character cut into surrogates",
        (*OPENAI, "cohere", "converse"),
        _halves,
        rows=ENCODED,
        unrated=True,
        excludes=UNCUT,
        source="abetlen/llama-cpp-python#372",
    ),
    _text("half a character", ALL, _lone, rows=ENCODED, unrated=True, excludes=UNCUT),
    _text(
        "bytes that are no UTF-8",
        OPENAI,
        _cut_bytes,
        stage="sent",
        modes=("stream",),
        excludes=UNCUT | {"frames", "labels", "ends"},
        source="ggml-org/llama.cpp#11738",
    ),
    _text("control characters", ALL, _nul),
    _text("none at all", OPENAI, _empty, excludes=UNCUT | {"finish", "indices", "counts"}),
    _text("very much", ALL, _long, excludes=UNCUT | {"frames", "ends"}),
)
