"""Odd usage objects in OpenAI's formats, and the counts that can be read from them."""

from collections.abc import Callable
from typing import Any

from tests.contract.wild.deviations import OPENAI, Deviation
from tests.contract.wild.deviations.usage_forms import C, Form, P, Slot, T, counted
from tests.contract.wild.draft import ABSENT, Body, Draft
from tests.contract.wild.truth import Told


def usage(prompt: Any = ABSENT, completion: Any = ABSENT, total: Any = ABSENT, **more: Any) -> Body:
    """Return a usage, or a template of one, with the counts that are given."""
    named = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total}
    return {**{name: value for name, value in named.items() if value is not ABSENT}, **more}


NAN, INFINITY = float("nan"), float("inf")

#: Name -> a usage, and what it tells.
FORMS: dict[str, Form] = {
    "no usage": Form(ABSENT, ""),
    "null": Form(None, ""),
    "an empty usage": Form({}, ""),
    "zeros": Form(usage(0, 0, 0), ""),
    "a list": Form([P, C], ""),
    "a text": Form("none", ""),
    "nulls": Form(usage(None, None, None), ""),
    "the prompt alone": Form(usage(P), "p"),
    "the prompt, and a null": Form(usage(P, None, None), "p"),
    "the completion alone": Form(usage(completion=C), "c"),
    "the completion, and a total that is no more": Form(usage(completion=C, total=C), "?"),
    "the total alone": Form(usage(total=T), "?"),
    "prompt and total": Form(usage(P, total=T), "pc"),
    "prompt and total, and a null": Form(usage(P, None, T), "pc"),
    "completion and total": Form(usage(completion=C, total=T), "pc"),
    "no total": Form(usage(P, C), "pc"),
    "floats": Form(usage(Slot.P_FLOAT, Slot.C_FLOAT, Slot.T_FLOAT), "pc"),
    "texts of digits": Form(usage(Slot.P_TEXT, Slot.C_TEXT, Slot.T_TEXT), "?"),
    "NaN beside a total": Form(usage(P, NAN, T), "pc"),
    "NaN": Form(usage(P, NAN, NAN), "p"),
    "infinity": Form(usage(INFINITY, C, INFINITY), "c"),
    "a negative count": Form(usage(P, -1, Slot.P_LESS), "p"),
    "a prompt above the total": Form(usage(P, total=Slot.P_LESS), "?"),
    "true": Form(usage(P, True), "p"),
    "other names": Form({"input_tokens": P, "output_tokens": C, "total_tokens": T}, "?"),
    "details that are null": Form(
        usage(P, C, T, prompt_tokens_details=None, completion_tokens_details=None), "pc"
    ),
    "details that are lists": Form(
        usage(P, C, T, prompt_tokens_details=[], completion_tokens_details="x"), "pc"
    ),
    "details that are nonsense": Form(
        usage(P, C, T, prompt_tokens_details={"cached_tokens": -5}), "pc"
    ),
    "costs beside it": Form(usage(P, C, T, cost=0.01, cost_details={"x": None}), "pc"),
}

SOURCES = {
    "other names": "earendil-works/pi#2325",
    "nulls": "openai/openai-agents-python#1179",
    "the completion, and a total that is no more": "sgl-project/sglang#10012",
    "cached, as hits": "genkit-ai/genkit#6229",
}


def _beyond(draft: Draft) -> None:
    """Say a total that is more than the sum: the output is what is left of it."""
    prompt, completion, beyond = *_counts(draft), draft.rng.randint(1, 900)
    draft.usage = usage(prompt, completion, prompt + completion + beyond)
    draft.truth.told = Told(prompt, completion + beyond)


def _below(draft: Draft) -> None:
    """Say a total that is less than the sum: the parts stand."""
    prompt, completion = _counts(draft)
    draft.usage = usage(prompt, completion, prompt + completion - draft.rng.randint(1, completion))
    draft.truth.told = Told(prompt, completion)


def _cached(*path: str) -> Callable[[Draft], None]:
    """Say at this place how much of the prompt was cached."""

    def apply(draft: Draft) -> None:
        prompt, completion = _counts(draft)
        cached = draft.rng.randint(1, prompt)
        *outer, last = path
        place: Body = {last: cached}
        for name in reversed(outer):
            place = {name: place}
        draft.usage = usage(prompt, completion, prompt + completion, **place)
        draft.truth.told = Told(prompt, completion, cached)

    return apply


def _counts(draft: Draft) -> tuple[int, int]:
    told = draft.truth.told
    return told.prompt or 0, told.completion or 0


SPECIAL: dict[str, Callable[[Draft], None]] = {
    "a total beyond the sum": _beyond,
    "a total below the sum": _below,
    "cached, flat": _cached("cached_tokens"),
    "cached, as hits": _cached("prompt_cache_hit_tokens"),
    "cached, in details": _cached("prompt_tokens_details", "cached_tokens"),
}

COUNTS: tuple[Deviation, ...] = tuple(
    Deviation(f"count: {name}", "counts", OPENAI, apply, source=SOURCES.get(name, ""))
    for name, apply in [*((name, counted(form)) for name, form in FORMS.items()), *SPECIAL.items()]
)
