"""Odd places, and repetitions, of finish reasons."""

from typing import Any

from tests.contract.wild.deviations import OPENAI, Deviation
from tests.contract.wild.deviations.placed_counts import run
from tests.contract.wild.draft import PAUSE_S, Draft, Event


def _everywhere(draft: Draft) -> None:
    """Say the reason in every chunk that has text."""
    for event in draft.events:
        _put_reason(draft, event)


def _early(draft: Draft) -> None:
    """Say the reason with the first text of each choice, and more text after it."""
    begun: set[int] = set()
    for event in draft.events:
        if event.says and event.says[0][0] not in begun:
            begun.add(event.says[0][0])
            _put_reason(draft, event)


def _put_reason(draft: Draft, event: Event) -> None:
    if event.says and isinstance(event.body, dict):
        position = event.says[0][0]
        word = _word(draft, position)
        choices = [{**choice, "finish_reason": word} for choice in event.body["choices"]]
        event.body = {**event.body, "choices": choices}


def _word(draft: Draft, position: int) -> Any:
    """Return the word that a choice ends with, as it is sent."""
    for event in draft.events:
        if position in event.ends:
            return event.body["choices"][0].get("finish_reason")
    return None


def _with_text(draft: Draft) -> None:
    """Say the reason with the last text, and in no chunk of its own."""
    for position in draft.positions:
        spoken = [e for e in draft.events if position in (at for at, _ in e.says)]
        end = next((e for e in draft.events if position in e.ends), None)
        if not spoken or end is None or end.final:
            continue
        _put_reason(draft, spoken[-1])
        spoken[-1].ends = [position]
        draft.events = [event for event in draft.events if event is not end]


def _again(draft: Draft) -> None:
    at = draft.last_of(lambda event: event.ends)
    event = draft.events[at]
    bare = {name: value for name, value in event.body.items() if name != "usage"}
    draft.events.insert(at + 1, Event(bare))


def _empty_words(draft: Draft) -> None:
    """Say "" for a reason in every chunk but the last."""
    for event in draft.events:
        if event.says:
            choices = [{**choice, "finish_reason": ""} for choice in event.body["choices"]]
            event.body = {**event.body, "choices": choices}


def _verdict_after(draft: Draft) -> None:
    """Send a filter's verdict after the reason, with a reason of null and no text."""
    at = draft.last_of(lambda event: event.ends)
    offsets = {"check_offset": 9, "start_offset": 9, "end_offset": 12}
    index = draft.events[at].body["choices"][0].get("index", 0)
    late = {"index": index, "finish_reason": None, "content_filter_offsets": offsets}
    body = {"id": "", "object": "", "created": 0, "model": "", "choices": [late]}
    draft.events.insert(at + 1, Event(body))


def _google_first(draft: Draft) -> None:
    """Say STOP in a first event without text, and the text after it."""
    end = draft.events[draft.first_of(lambda event: event.ends)].body
    first = {**end, "candidates": [{**c, "content": {}} for c in end["candidates"]]}
    first.pop("usageMetadata", None)
    draft.events.insert(0, Event(first))


def _early_and_slow(draft: Draft) -> None:
    """Say each reason early, count as it goes, and pause before a later text."""
    run(draft)
    _early(draft)
    _pause_before_text(draft, 2)


def _google_first_and_slow(draft: Draft) -> None:
    _google_first(draft)
    _pause_before_text(draft, 1)


def _pause_before_text(draft: Draft, texts: int) -> None:
    """Pause once so many texts have been, of which one has followed an end: a reader can know."""
    later = [at for at, event in enumerate(draft.events) if event.says][texts:]
    draft.pauses = {draft.rng.choice(later): PAUSE_S}


def _finish(name: str, families: tuple[str, ...], apply: Any, **more: Any) -> Deviation:
    return Deviation(f"finish: {name}", "finish", families, apply, **more)


ALONE = frozenset({"labels", "cuts", "errors", "counts", "frames", "ends"})
CHUNKS: dict[str, Any] = {
    "stage": "spoken",
    "modes": ("stream",),
    "excludes": frozenset({"labels", "count: a running count of each choice, and no other"}),
}

FINISH_PLACES: tuple[Deviation, ...] = (
    _finish(
        "in every chunk",
        OPENAI,
        _everywhere,
        source="BerriAI/litellm#376",
        **{**CHUNKS, "excludes": frozenset({"labels", "cuts", "errors"})},
    ),
    _finish(
        "early, and more text after it",
        OPENAI,
        _early,
        **{**CHUNKS, "excludes": frozenset({"labels", "cuts", "errors"})},
    ),
    _finish(
        "early, and a pause before more text",
        OPENAI,
        _early_and_slow,
        shape="one",
        **{
            **CHUNKS,
            "excludes": frozenset({"labels", "cuts", "errors", "counts", "frames", "ends"}),
        },
    ),
    _finish(
        "first, and a pause before more text",
        ("google",),
        _google_first_and_slow,
        **{
            **CHUNKS,
            "excludes": frozenset({"labels", "cuts", "errors", "counts", "frames", "ends"}),
        },
    ),
    _finish(
        "with the last text",
        OPENAI,
        _with_text,
        source="vllm-project/vllm#35705",
        **CHUNKS,
    ),
    _finish("twice", OPENAI, _again, **CHUNKS),
    _finish(
        "blanks before it",
        OPENAI,
        _empty_words,
        source="sgl-project/sglang#3912, ollama/ollama#4357",
        **CHUNKS,
    ),
    _finish(
        "a verdict after it",
        ("chat",),
        _verdict_after,
        source="microsoft/autogen#6465, langchain-ai/langchain#18977",
        **CHUNKS,
    ),
    _finish(
        "first, and then the text",
        ("google",),
        _google_first,
        source="Chevey339/kelivo#1002",
        modes=("stream",),
        stage="spoken",
        excludes=frozenset({"cuts", "errors"}),
    ),
)
