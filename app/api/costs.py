"""What one answer cost, in dollars: a header of whole answers, and `usage.cost` for who asks."""

from collections.abc import Mapping
from typing import Any

from flask import Response

from app.vocabulary.errors import InvalidRequest
from app.vocabulary.money import NANO, dollars

#: The header of a request that asks for `usage.cost`.
INCLUDE = "x-tollgate-include-cost"
_INCLUDE = "HTTP_X_TOLLGATE_INCLUDE_COST"
#: The header of a whole answer.
COST = "x-tollgate-cost"

_SWITCH = {"true": True, "false": False}


def is_asked(environ: Mapping[str, Any]) -> bool:
    """Return whether a WSGI request asks for `usage.cost`.

    Raises: InvalidRequest if its header is neither `true` nor `false`.
    """
    value: str | None = environ.get(_INCLUDE)
    if value is None:
        return False
    found = _SWITCH.get(value.strip().lower())
    if found is None:
        raise InvalidRequest(f"The header `{INCLUDE}` must be `true` or `false`.", param=INCLUDE)
    return found


def in_usage(nanousd: int | None) -> float | None:
    """Return a cost as `usage.cost` has it; None if it is unknown."""
    return None if nanousd is None else nanousd / NANO


def set_cost(response: Response, nanousd: int | None) -> None:
    """Add the header; an unknown cost has none."""
    if nanousd is not None:
        response.headers[COST] = dollars(nanousd)
