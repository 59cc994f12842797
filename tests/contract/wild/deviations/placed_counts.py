"""Odd places, and repetitions, of the usage in OpenAI's formats."""

from collections.abc import Callable
from typing import Any

from tests.contract.wild.deviations import OPENAI, Deviation
from tests.contract.wild.draft import Body, Draft, Event
from tests.contract.wild.truth import Told


def _openai(prompt: int, completion: int, total: int) -> Body:
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total}


def _spread(counts: Callable[[Draft, Event, int], Body | None]) -> Callable[[Draft], None]:
    """Put a running usage into the chunks, and take the last one's away."""

    def apply(draft: Draft) -> None:
        events = [event for event in draft.events if not (event.final and not event.ends)]
        draft.events, spoken = events, 0
        for event in events:
            event.told, event.final = None, False
            if isinstance(event.body, dict) and event.body.get("choices"):
                spoken += len(event.says)
                bare = {name: value for name, value in event.body.items() if name != "x_groq"}
                event.body = {**bare, "usage": counts(draft, event, spoken) if spoken else None}

    return apply


def _running(draft: Draft, event: Event, spoken: int) -> Body:
    """Return the total so far; at the end of all it is the call's own."""
    told = draft.truth.told
    prompt, completion = told.prompt or 0, told.completion or 0
    if event is draft.events[draft.last_of(lambda other: other.ends)]:
        event.told, event.final = told, True
        return _openai(prompt, completion, prompt + completion)
    event.told = Told(prompt, None, at_least=spoken)
    return _openai(prompt, spoken, prompt + spoken)


def run(draft: Draft) -> None:
    """Count the whole call so far in every chunk, a token or more for each piece."""
    told, pieces = draft.truth.told, sum(len(event.says) for event in draft.events)
    draft.truth.told = Told(told.prompt, pieces + draft.rng.randint(0, 9))
    _spread(_running)(draft)


def _steps(draft: Draft) -> None:
    """Count 1 in every chunk, not all so far, where the call's own count comes by itself."""
    if draft.last_of(lambda event: event.final and not event.ends) < 0:
        return
    prompt = draft.truth.told.prompt or 0
    for event in draft.events:
        if event.says and not event.final:
            event.body = {**event.body, "usage": _openai(prompt, 1, prompt + 1)}
            event.told = Told(prompt, at_least=1)


def _by_choice(draft: Draft) -> None:
    """Count each choice by itself, each time with its whole prompt, and never the call."""
    prompts = sorted({sample.prompt for sample in draft.truth.samples})
    read = {letter: draft.rng.randint(5, 50) for letter in prompts}
    ended = {at: draft.rng.randint(6, 30) for at in draft.positions}
    draft.truth.told = Told(sum(read.values()), sum(ended.values()))
    so_far = dict.fromkeys(draft.positions, 0)
    for event in [e for e in draft.events if e.final and not e.ends]:
        draft.events.remove(event)
    last = draft.last_of(lambda event: event.ends)
    for at, event in enumerate(draft.events):
        event.told, event.final = None, False
        position = next(iter([*event.ends, *(p for p, _ in event.says)]), None)
        if position is None:
            continue
        so_far[position] = ended[position] if event.ends else so_far[position] + 1
        prompt = read[draft.truth.samples[position].prompt]
        count = _openai(prompt, so_far[position], prompt + so_far[position])
        event.body = {**event.body, "usage": count}
        if at == last:
            event.told, event.final = draft.truth.told, True


def _in_choice(draft: Draft) -> None:
    """Put the usage into the last choice of all."""
    told = draft.truth.told
    draft.truth.told = Told(told.prompt, told.completion)
    prompt, completion = told.prompt or 0, told.completion or 0
    usage = _openai(prompt, completion, prompt + completion)
    if not draft.streams:
        draft.body.pop("usage", None)
        draft.body["choices"][-1]["usage"] = usage
        return
    draft.events = [event for event in draft.events if not (event.final and not event.ends)]
    for event in draft.events:
        event.told, event.final = None, False
        if isinstance(event.body, dict):
            event.body.pop("usage", None)
            event.body.pop("x_groq", None)
    last = draft.events[draft.last_of(lambda event: event.ends)]
    last.body["choices"][0]["usage"] = usage
    last.told, last.final = draft.truth.told, True


def _twice(draft: Draft) -> None:
    """Say the usage with the last piece, and again after it."""
    at = draft.last_of(lambda event: event.final)
    if at < 0 or not isinstance(draft.events[at].body, dict):
        return
    body = draft.events[at].body
    usage = body.get("usage") or body["x_groq"]["usage"]
    again = {**body, "choices": [], "usage": usage}
    draft.events.insert(at + 1, Event(again, told=draft.truth.told, final=True))


def _zeros_first(draft: Draft) -> None:
    for event in draft.events:
        if isinstance(event.body, dict) and not event.told:
            event.body = {**event.body, "usage": _openai(0, 0, 0)}


def _placed(name: str, apply: Callable[[Draft], None], **more: Any) -> Deviation:
    values: dict[str, Any] = {"modes": ("stream",), "excludes": frozenset({"labels"}), **more}
    return Deviation(f"count: {name}", "counts", OPENAI, apply, "spoken", **values)


PLACED_COUNTS: tuple[Deviation, ...] = (
    _placed("a running total in every chunk", run, source="alfredapp/openai-workflow#52"),
    _placed(
        "a running count of each choice, and no other",
        _by_choice,
        excludes=frozenset({"labels", "cuts", "errors"}),
    ),
    _placed(
        "in the choice",
        _in_choice,
        modes=("stream", "whole"),
        shape="one",
        source="earendil-works/pi#2017",
    ),
    _placed(
        "of each chunk alone, but for the last",
        _steps,
        excludes=frozenset({"labels", "cuts", "errors"}),
        source="vllm-project/vllm#9357",
    ),
    _placed("twice", _twice),
    _placed("zeros first", _zeros_first),
)
