"""What a usage may look like, and what it tells all the same."""

from collections.abc import Callable
from typing import Any

from tests.vendors.wild.deviations import OPENAI, Deviation
from tests.vendors.wild.draft import ABSENT, Body, Draft, Event
from tests.vendors.wild.truth import Told

#: Makes a usage of a prompt's and a completion's tokens, and says what it tells.
Variant = Callable[[Draft, int, int], tuple[Any, Told]]


def _counted(variant: Variant) -> Callable[[Draft], None]:
    def apply(draft: Draft) -> None:
        told = draft.truth.told
        usage, tells = variant(draft, told.prompt or 0, told.completion or 0)
        draft.usage, draft.truth.told = usage, tells

    return apply


def _openai(prompt: Any, completion: Any, total: Any, **more: Any) -> Body:
    named = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total}
    return {**{name: value for name, value in named.items() if value is not ABSENT}, **more}


def _beyond(draft: Draft, p: int, c: int) -> tuple[Any, Told]:
    beyond = draft.rng.randint(1, 900)
    return _openai(p, c, p + c + beyond), Told(p, c + beyond)


def _below(draft: Draft, p: int, c: int) -> tuple[Any, Told]:
    return _openai(p, c, p + c - draft.rng.randint(1, c)), Told(p, c)


def _cached(make: Callable[[int], Body]) -> Variant:
    def variant(draft: Draft, p: int, c: int) -> tuple[Any, Told]:
        cached = draft.rng.randint(1, p)
        return _openai(p, c, p + c, **make(cached)), Told(p, c, cached)

    return variant


NONE = Told()
LOOSE = Told(loose=True)
NAN, HUGE = float("nan"), float("inf")

#: Name -> the usage of a whole call on OpenAI's wires.
OPENAI_USAGES: dict[str, Variant] = {
    "no usage": lambda d, p, c: (ABSENT, NONE),
    "null": lambda d, p, c: (None, NONE),
    "an empty usage": lambda d, p, c: ({}, NONE),
    "zeros": lambda d, p, c: (_openai(0, 0, 0), NONE),
    "a list": lambda d, p, c: ([p, c], NONE),
    "a text": lambda d, p, c: ("none", NONE),
    "nulls": lambda d, p, c: (_openai(None, None, None), NONE),
    "the prompt alone": lambda d, p, c: (_openai(p, ABSENT, ABSENT), Told(p)),
    "the prompt, and a null": lambda d, p, c: (_openai(p, None, None), Told(p)),
    "the completion alone": lambda d, p, c: (_openai(ABSENT, c, ABSENT), Told(None, c)),
    "the total alone": lambda d, p, c: (_openai(ABSENT, ABSENT, p + c), LOOSE),
    "prompt and total": lambda d, p, c: (_openai(p, ABSENT, p + c), Told(p, c)),
    "prompt and total, and a null": lambda d, p, c: (_openai(p, None, p + c), Told(p, c)),
    "completion and total": lambda d, p, c: (_openai(ABSENT, c, p + c), Told(p, c)),
    "a total beyond the sum": _beyond,
    "a total below the sum": _below,
    "no total": lambda d, p, c: (_openai(p, c, ABSENT), Told(p, c)),
    "floats": lambda d, p, c: (_openai(float(p), float(c), float(p + c)), Told(p, c)),
    "texts of digits": lambda d, p, c: (_openai(str(p), str(c), str(p + c)), LOOSE),
    "NaN beside a total": lambda d, p, c: (_openai(p, NAN, p + c), Told(p, c)),
    "NaN": lambda d, p, c: (_openai(p, NAN, NAN), Told(p)),
    "infinity": lambda d, p, c: (_openai(HUGE, c, HUGE), Told(None, c)),
    "a negative count": lambda d, p, c: (_openai(p, -1, p - 1), Told(p)),
    "a prompt above the total": lambda d, p, c: (_openai(p, ABSENT, p - 1), LOOSE),
    "true": lambda d, p, c: (_openai(p, True, ABSENT), Told(p)),
    "other names": lambda d, p, c: (
        {"input_tokens": p, "output_tokens": c, "total_tokens": p + c},
        LOOSE,
    ),
    "details that are null": lambda d, p, c: (
        _openai(p, c, p + c, prompt_tokens_details=None, completion_tokens_details=None),
        Told(p, c),
    ),
    "details that are lists": lambda d, p, c: (
        _openai(p, c, p + c, prompt_tokens_details=[], completion_tokens_details="x"),
        Told(p, c),
    ),
    "details that are nonsense": lambda d, p, c: (
        _openai(p, c, p + c, prompt_tokens_details={"cached_tokens": -5}),
        Told(p, c),
    ),
    "cached, flat": _cached(lambda cached: {"cached_tokens": cached}),
    "cached, as hits": _cached(lambda cached: {"prompt_cache_hit_tokens": cached}),
    "cached, in details": _cached(
        lambda cached: {"prompt_tokens_details": {"cached_tokens": cached}}
    ),
}

SOURCES = {
    "other names": "earendil-works/pi#2325",
    "nulls": "openai/openai-agents-python#1179",
    "the completion alone": "sgl-project/sglang#10012",
    "cached, as hits": "genkit-ai/genkit#6229",
}


def _spread(counts: Callable[[Draft, Event, int], Body | None]) -> Callable[[Draft], None]:
    """Put a running usage into the chunks, and take the last one's away."""

    def apply(draft: Draft) -> None:
        events = [event for event in draft.events if not (event.final and not event.ends)]
        draft.events, spoken = events, 0
        for event in events:
            event.told, event.final = None, False
            if isinstance(event.body, dict) and event.body.get("choices"):
                spoken += len(event.says)
                event.body = {**event.body, "usage": counts(draft, event, spoken)}

    return apply


def _running(draft: Draft, event: Event, spoken: int) -> Body:
    """Return the total so far; at the end of all it is the call's own."""
    told = draft.truth.told
    prompt, completion = told.prompt or 0, told.completion or 0
    if event is draft.events[draft.last_of(lambda other: other.ends)]:
        event.told, event.final = told, True
        return _openai(prompt, completion, prompt + completion)
    so_far = min(spoken, completion)
    event.told = Told(prompt, None, at_least=so_far)
    return _openai(prompt, so_far, prompt + so_far)


def _run(draft: Draft) -> None:
    told = draft.truth.told
    draft.truth.told = Told(told.prompt, told.completion)
    _spread(_running)(draft)


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


def _openai_count(name: str, variant: Variant) -> Deviation:
    source = SOURCES.get(name, "")
    return Deviation(f"count: {name}", "counts", OPENAI, _counted(variant), source=source)


def _placed(name: str, apply: Callable[[Draft], None], **more: Any) -> Deviation:
    values: dict[str, Any] = {"modes": ("stream",), "excludes": frozenset({"labels"}), **more}
    return Deviation(f"count: {name}", "counts", OPENAI, apply, "spoken", **values)


COUNTS: tuple[Deviation, ...] = (
    *(_openai_count(name, variant) for name, variant in OPENAI_USAGES.items()),
    _placed("a running total in every chunk", _run, source="alfredapp/openai-workflow#52"),
    _placed("a running count of each choice, and no other", _by_choice),
    _placed("in the choice", _in_choice, modes=("stream", "whole"), shape="one"),
    _placed("twice", _twice),
    _placed("zeros first", _zeros_first),
)
