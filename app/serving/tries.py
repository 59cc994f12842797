"""How often the vendors of a failed request were called, in words for the caller. No I/O."""

from collections.abc import Mapping

from app.vocabulary.errors import (
    GatewayError,
    ShuttingDown,
    VendorAuthentication,
    VendorRejected,
)

#: Failures that another try would not change: tries at one vendor need no words.
_FINAL = (ShuttingDown, VendorAuthentication, VendorRejected)


def note_tries(error: GatewayError, calls: Mapping[str, int]) -> None:
    """Have the error's body state how often Tollgate called each vendor, by its name."""
    made = {vendor: count for vendor, count in calls.items() if count}
    if not made or (isinstance(error, _FINAL) and len(made) == 1):
        return
    if len(made) == 1:
        error.note = f"Tollgate tried {_times(sum(made.values()))}."
        return
    *others, last = [f"`{vendor}` {_times(count)}" for vendor, count in made.items()]
    error.note = f"Tollgate tried {', '.join(others)} and {last}."


def _times(count: int) -> str:
    return "once" if count == 1 else "twice" if count == 2 else f"{count} times"
