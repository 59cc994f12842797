"""Several faults of one request as one error. No I/O."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from app.vocabulary.errors.caller import InvalidRequest

#: The most faults that a body lists, and that its message states.
LISTED_LIMIT, STATED_LIMIT = 20, 5

Fault = TypeVar("Fault", bound=InvalidRequest)
T = TypeVar("T")


def together(faults: Sequence[Fault]) -> Fault:
    """Return the first fault, with all of them in its message and in its `details`.

    A fault may be several itself. One fault alone is returned unchanged.
    """
    first = faults[0]
    if len(faults) > 1:
        listed = [detail for it in faults for detail in it.details or [_detail(it)]]
        first.details = listed[:LISTED_LIMIT]
        first.message = str(listed[0]["message"])
        stated = " ".join(str(it["message"]) for it in listed[1:STATED_LIMIT])
        more = len(listed) - STATED_LIMIT
        first.add(f"Also: {stated}" + (f" And {more} more." if more > 0 else ""))
    return first


def _detail(fault: InvalidRequest) -> dict[str, str | None]:
    return {"message": fault.message, "param": fault.param, "code": fault.code}


class Faults:
    """The faults found so far by checks that do not depend on each other."""

    def __init__(self, *faults: InvalidRequest) -> None:
        self.found = list(faults)

    def of(self, check: Callable[[], T]) -> T | None:
        """Return what a check returns; None if it finds a fault, which is kept."""
        try:
            return check()
        except InvalidRequest as fault:
            self.found.append(fault)
            return None

    def raise_any(self) -> None:
        """Raise the faults together, if there are any."""
        if self.found:
            raise together(self.found)
