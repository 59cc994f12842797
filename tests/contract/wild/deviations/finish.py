"""Odd and missing finish reasons."""

from collections.abc import Callable
from typing import Any

from tests.contract.wild.deviations import OPENAI, Deviation
from tests.contract.wild.draft import ABSENT, Draft
from tests.contract.wild.truth import BROKEN
from tests.contract.wild.wires.rows import SPEAKERS

#: Wires that have a word for it which a draft can change.
WORDED = (*OPENAI, "anthropic", "cohere", "google", "converse")

UNKNOWN = ("flibbertigibbet", "ended_by_moonlight", "HALT_7", "stopped early", "ünknown")


def _unknown(draft: Draft) -> None:
    """Say a word that nobody knows, of one choice or of all."""
    word = draft.rng.choice(UNKNOWN)
    for position in _some(draft):
        draft.words[position] = word
        sample = draft.truth.samples[position]
        sample.finish, sample.native = "length", word


def _some(draft: Draft) -> list[int]:
    return draft.rng.choice([[draft.rng.choice(draft.positions)], list(draft.positions)])


def _said(*words: Any, finish: str) -> Callable[[Draft], None]:
    def apply(draft: Draft) -> None:
        for position in draft.positions:
            draft.words[position] = draft.rng.choice(words)
            draft.truth.samples[position].finish = finish

    return apply


def _no_word(draft: Draft) -> None:
    """Say no reason; where nothing else marks a stream's end, nobody knows that it is one."""
    word = draft.rng.choice((None, ABSENT, ""))
    for position in _some(draft):
        draft.words[position] = word
        draft.truth.samples[position].finish = "stop"


def _never_ends(draft: Draft) -> None:
    """Send a stream whose end nothing marks: no reason, and no mark."""
    draft.events = [event for event in draft.events if not event.mark]
    for event in draft.events:
        if event.ends:
            _take_reason(event.body)
            event.ends = []
    draft.truth.fail(*BROKEN)
    draft.truth.told = draft.heard(len(draft.events)).told


def _take_reason(body: Any) -> None:
    for choice in [*body.get("choices", ()), *body.get("candidates", ())]:
        choice.pop("finishReason", None)
        if "finish_reason" in choice:
            choice["finish_reason"] = None
    if "output" in body:
        body["output"] = {**body["output"], "finished": False}


def _failed(*words: str) -> Callable[[Draft], None]:
    def apply(draft: Draft) -> None:
        draft.words[0] = draft.rng.choice(words)
        draft.truth.samples[0].failed = True
        draft.truth.fail(*BROKEN)

    return apply


def _sibling_failed(draft: Draft) -> None:
    """Say of one choice that it failed; what becomes of it is open, the others are not lost."""
    draft.words[draft.rng.choice(draft.positions)] = draft.rng.choice(("error", "abort"))
    draft.truth.either = True


def _finish(name: str, families: tuple[str, ...], apply: Any, **more: Any) -> Deviation:
    return Deviation(f"finish: {name}", "finish", families, apply, **more)


FAILS: dict[str, Any] = {
    "breaks": True,
    "excludes": frozenset({"ends", "cuts", "errors", "indices", "labels", "texts"}),
}

FINISHES: tuple[Deviation, ...] = (
    _finish("a word that nobody knows", WORDED, _unknown),
    _finish(
        "no reason",
        (*OPENAI, "anthropic", "cohere"),
        _no_word,
        modes=("whole",),
        excludes=frozenset({"labels"}),  # a stream without a reason may be none that is whole
    ),
    _finish("no reason of Google's", ("google",), _no_word, modes=("whole",)),
    _finish(
        "no reason before the mark",
        OPENAI,
        _no_word,
        modes=("stream",),
        rows=tuple(row for row in SPEAKERS if row != "llmengine"),
        excludes=frozenset({"ends", "cuts", "errors"}),
    ),
    _finish(
        "no reason, and no mark",
        (*OPENAI, "google", "v1"),
        _never_ends,
        modes=("stream",),
        stage="spoken",
        shape="call",
        source="router-for-me/CLIProxyAPI#5226, earendil-works/pi#5793",
        **FAILS,
    ),
    _finish(
        "no reason before a message's end",
        ("anthropic",),
        _no_word,
        modes=("stream",),
        excludes=frozenset({"ends", "cuts", "errors"}),
        source="vllm-project/vllm#27572",
    ),
    _finish("words of other vendors", OPENAI, _said("end_turn", "eos", "eos_token", finish="stop")),
    _finish("words in capitals", OPENAI, _said("STOP", "Stop", "LENGTH", finish="?")),
    _finish("no text for a reason", OPENAI, _said(7, {"type": "stop"}, ["stop"], finish="?")),
    _finish(
        "error",
        OPENAI,
        _failed("error", "abort"),
        shape="one",
        source="vllm-project/vllm#57082, togethercomputer/together-python#153",
        **FAILS,
    ),
    _finish("ERROR", ("cohere",), _failed("ERROR", "TIMEOUT"), shape="one", **FAILS),
    _finish(
        "MALFORMED",
        ("google",),
        _failed("MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE"),
        shape="one",
        **FAILS,
    ),
    _finish(
        "malformed",
        ("converse",),
        _failed("malformed_model_output"),
        shape="one",
        **FAILS,
    ),
    _finish("error of one of several", OPENAI, _sibling_failed, shape="several", **FAILS),
)
