"""Unposted: which requests, by process and number, the ledger may not have. No I/O."""

from collections import defaultdict
from collections.abc import Mapping

from app.usage.messages.numbered import Numbered
from app.usage.numbers import Ranges, outside


class Unposted:
    """Numbers of requests that the ledger may not have, by process."""

    def __init__(self) -> None:
        self._numbers: defaultdict[str, set[int]] = defaultdict(set)

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self._numbers)

    @property
    def processes(self) -> set[str]:
        """The processes that opened these requests."""
        return set(self._numbers)

    def add(self, process: str, number: int) -> None:
        """Add a request."""
        self._numbers[process].add(number)

    def last(self) -> dict[str, int]:
        """Return the highest number of each process."""
        return {process: max(numbers) for process, numbers in self._numbers.items()}

    def holds(self, it: Numbered | None) -> bool:
        """Return whether a message is about one of these requests."""
        return (
            it is not None and it.key is not None and it.key[1] in self._numbers.get(it.key[0], ())
        )

    def forget(self, posted: Mapping[str, Ranges]) -> None:
        """Remove the requests that the ledger has."""
        for process in self.processes & posted.keys():
            left = outside(self._numbers[process], posted[process])
            if left:
                self._numbers[process] = left
            else:
                del self._numbers[process]
