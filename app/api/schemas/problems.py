"""Marshmallow's errors as the API's: all faulty fields of a request in one error."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from marshmallow import ValidationError

from app.api.schemas.fields import MISSING, TYPE, UNKNOWN, Problem
from app.vocabulary.errors import (
    InvalidRequest,
    InvalidType,
    MissingParameter,
    UnknownParameter,
    together,
)
from app.vocabulary.suggestion import did_you_mean

_CLASSES: Mapping[str, type[InvalidRequest]] = {
    MISSING: MissingParameter,
    TYPE: InvalidType,
    UNKNOWN: UnknownParameter,
}


def first_problem(error: ValidationError, known: Iterable[str] = ()) -> InvalidRequest:
    """Return the API's error for a marshmallow error: its first message, with the others listed.

    Shapes: `{"stop": {2: ["must be a string"]}}` becomes `param="stop[2]"`. An unknown parameter
    is compared with the `known` ones.
    """
    names = tuple(known)
    faults = [_fault(path, it, names) for path, it in _problems("", error.messages)]
    # Marshmallow names unknown ones in any order.
    faults.sort(key=lambda it: it.param or "" if isinstance(it, UnknownParameter) else "")
    return together(faults)


def _problems(path: str, found: Any) -> Iterator[tuple[str, Any]]:
    """Yield the path of each faulty value, and the first message about it."""
    if isinstance(found, dict):
        for key, inner in found.items():
            step = f"[{key}]" if isinstance(key, int) else f".{_short(key)}"
            yield from _problems(path + step if path else step.removeprefix("."), inner)
    else:
        yield path, found[0] if isinstance(found, list) else found


def _fault(path: str, sentence: Any, known: tuple[str, ...]) -> InvalidRequest:
    code = sentence.code if isinstance(sentence, Problem) else None
    hint = did_you_mean(path, known) if code == UNKNOWN else ""
    fault = _CLASSES.get(code or "", InvalidRequest)
    return fault(f"`{path}` {sentence}.{hint}", param=path, code=code)


def _short(key: Any) -> str:
    """Return a key of the body, short enough for a message."""
    return str(key)[:64]
