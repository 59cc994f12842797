"""Several faults of one request as one error. No I/O."""

from collections.abc import Callable, Mapping, Sequence
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
        _state(first, [detail for it in faults for detail in it.details or [_detail(it)]])
    return first


def renamed(error: Fault, public: Callable[[str], str]) -> Fault:
    """Return an error with other names of fields; faults that then say the same are one."""
    listed = [_with_name(it, public) for it in error.details or [_detail(error)]]
    _state(error, list({str(it["message"]): it for it in listed}.values()))
    return error


def _state(error: InvalidRequest, listed: Sequence[Mapping[str, str | None]]) -> None:
    """Make an error state and list these faults."""
    error.message, error.param = str(listed[0]["message"]), listed[0]["param"]
    error.args = (error.message,)
    error.details = listed[:LISTED_LIMIT] if len(listed) > 1 else ()
    if error.details:
        stated = " ".join(str(it["message"]) for it in listed[1:STATED_LIMIT])
        more = len(listed) - STATED_LIMIT
        error.add(f"Also: {stated}" + (f" And {more} more." if more > 0 else ""))


def _with_name(
    detail: Mapping[str, str | None], public: Callable[[str], str]
) -> Mapping[str, str | None]:
    name = detail["param"]
    if name is None or (told := public(name)) == name:
        return detail
    return {
        **detail,
        "param": told,
        "message": str(detail["message"]).replace(f"`{name}`", f"`{told}`"),
    }


def _detail(fault: InvalidRequest) -> Mapping[str, str | None]:
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
