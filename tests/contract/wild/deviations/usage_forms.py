"""Templates of usage objects: slots for a call's counts, and the sides that they report."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from tests.contract.wild.draft import Draft
from tests.contract.wild.truth import Told


class Slot(Enum):
    """A count of the call, or something else made of it."""

    P = "prompt"
    C = "completion"
    T = "total"
    P_FLOAT = "prompt, as a float"
    C_FLOAT = "completion, as a float"
    T_FLOAT = "total, as a float"
    P_TEXT = "prompt, as a text"
    C_TEXT = "completion, as a text"
    T_TEXT = "total, as a text"
    P_LESS = "prompt, less one"


P, C, T = Slot.P, Slot.C, Slot.T


@dataclass(frozen=True)
class Form:
    """A template of a usage, and the sides that it tells: "p", "c", "pc", "" or "?" (open)."""

    template: Any
    tells: str


def counted(form: Form) -> Callable[[Draft], None]:
    """Return what has a draft send a usage of this form, and keep what it tells."""

    def apply(draft: Draft) -> None:
        told = draft.truth.told
        prompt, completion = told.prompt or 0, told.completion or 0
        draft.usage = filled(form.template, prompt, completion)
        draft.truth.told = Told(
            prompt if "p" in form.tells else None,
            completion if "c" in form.tells else None,
            loose=form.tells == "?",
        )

    return apply


def filled(template: Any, prompt: int, completion: int) -> Any:
    """Return a template with the counts in its slots."""
    if isinstance(template, dict):
        return {name: filled(value, prompt, completion) for name, value in template.items()}
    if isinstance(template, list):
        return [filled(value, prompt, completion) for value in template]
    return _value(template, prompt, completion) if isinstance(template, Slot) else template


def _value(slot: Slot, prompt: int, completion: int) -> Any:
    name, _, form = slot.value.partition(", ")
    counts = {"prompt": prompt, "completion": completion, "total": prompt + completion}
    count = counts[name]
    return {"as a float": float(count), "as a text": str(count), "less one": count - 1}.get(
        form, count
    )


def pair(first: str, second: str) -> Callable[..., dict[str, Any]]:
    """Return a maker of templates with two counts, by the names that a wire has for them."""

    def template(prompt: Any = None, completion: Any = None) -> dict[str, Any]:
        return {first: prompt, second: completion}

    return template
