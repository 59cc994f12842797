"""Several faults of one request as one error. No I/O."""

from collections.abc import Sequence
from typing import TypeVar

from app.vocabulary.errors.caller import InvalidRequest

#: The most faults that a body lists, and that its message states.
LISTED_LIMIT, STATED_LIMIT = 20, 5

Fault = TypeVar("Fault", bound=InvalidRequest)


def together(faults: Sequence[Fault]) -> Fault:
    """Return the first fault, with all of them in its message and in its `details`.

    One fault alone is returned unchanged.
    """
    first, others = faults[0], faults[1:]
    if others:
        first.details = [
            {"message": it.message, "param": it.param, "code": it.code}
            for it in faults[:LISTED_LIMIT]
        ]
        stated = " ".join(it.message for it in others[: STATED_LIMIT - 1])
        more = len(others) - (STATED_LIMIT - 1)
        first.add(f"Also: {stated}" + (f" And {more} more." if more > 0 else ""))
    return first
