"""Marshmallow's errors as the API's: all faulty fields of a request in one error."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from marshmallow import ValidationError

from app.api.schemas.fields import MISSING, TYPE, UNKNOWN, Problem
from app.vocabulary.errors import (
    LISTED_LIMIT,
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
    problems = list(_problems("", error.messages))
    # Marshmallow names unknown ones in any order.
    problems.sort(key=lambda it: it[0] if _code(it[1]) == UNKNOWN else "")
    # Names are compared for those that are listed alone: a query may have thousands.
    return together(
        [
            _fault(path, it, names if at < LISTED_LIMIT else ())
            for at, (path, it) in enumerate(problems)
        ]
    )


def _problems(path: str, found: Any) -> Iterator[tuple[str, Any]]:
    """Yield the path of each faulty value, and the first message about it."""
    if isinstance(found, dict):
        for key, inner in found.items():
            step = f"[{key}]" if isinstance(key, int) else f".{_short(key)}"
            yield from _problems(path + step if path else step.removeprefix("."), inner)
    else:
        yield path, found[0] if isinstance(found, list) else found


def _fault(path: str, sentence: Any, known: tuple[str, ...]) -> InvalidRequest:
    code = _code(sentence)
    hint = did_you_mean(path, known) if code == UNKNOWN else ""
    fault = _CLASSES.get(code or "", InvalidRequest)
    return fault(f"`{path}` {sentence}.{hint}", param=path, code=code)


def _code(sentence: Any) -> str | None:
    return sentence.code if isinstance(sentence, Problem) else None


def _short(key: Any) -> str:
    """Return a key of the body, short enough for a message."""
    return str(key)[:64]
