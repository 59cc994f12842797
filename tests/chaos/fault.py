"""Fault: what happens to one party for a while, and how it is repaired."""

from collections.abc import Callable
from dataclasses import dataclass

#: Repairs something; may return what comes next, and after how many seconds.
Repair = Callable[[], "Next | None"]
Next = tuple[float, Repair]

#: The party of faults that lose what Redis knows. While it is out, no other fault does.
MEMORY = "memory"

#: The party of faults that need an empty spool: what waits in it has no other copy.
SPOOL = "spool"


@dataclass(frozen=True)
class Fault:
    """One fault. `strike` causes it and returns its repair, which is due after `pause_s`.

    Until it is repaired, neither `party` nor any of `also` has another fault.
    """

    party: str
    name: str
    strike: Callable[[], Repair]
    pause_s: tuple[float, float]
    also: tuple[str, ...] = ()

    @property
    def parties(self) -> frozenset[str]:
        """Everything that it takes part in."""
        return frozenset((self.party, *self.also))


def nothing() -> None:
    """Repair nothing."""
