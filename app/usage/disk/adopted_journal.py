"""AdoptedJournal: what a process that has ended left in its journal."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from app.usage.disk import segments
from app.usage.disk.journal import SUFFIX
from app.usage.disk.segments import Line, Segment
from app.usage.disk.unposted import Unposted
from app.usage.messages.numbered import Numbered, numbered
from app.usage.numbers import Ranges


class AdoptedJournal:
    """The journal of a process that has ended, held until the ledger has all of its requests."""

    def __init__(self, found: tuple[Segment, ...]) -> None:
        self._segments = found
        self.owner = found[0].owner
        self.unposted = Unposted()
        for _, it in self._numbered():
            if it.key is not None:
                self.unposted.add(*it.key)

    def forget(self, posted: Mapping[str, Ranges]) -> None:
        """Forget the requests that the ledger has."""
        self.unposted.forget(posted)

    def lines(self) -> Iterator[Line]:
        """Yield what the ledger may not have: each event, and each open record without an event."""
        finished = {it.event_id for (kind, _), it in self._numbered() if kind == "event"}
        for (kind, payload), it in self._numbered():
            if self.unposted.holds(it) and (kind == "event" or it.event_id not in finished):
                yield kind, payload

    def remove(self) -> None:
        """Remove its files."""
        for segment in self._segments:
            segment.remove()

    def close(self) -> None:
        """Leave its files to another process."""
        for segment in self._segments:
            segment.close()

    def _numbered(self) -> Iterator[tuple[Line, Numbered]]:
        for segment in self._segments:
            for line in segment.lines():
                if (it := numbered(line[1])) is not None:
                    yield line, it


def adopt(directory: Path, owner: str) -> Iterator[AdoptedJournal]:
    """Yield the journals of processes that have ended; each is this process' until it is closed.

    Raises: OSError if one cannot be read; another call may adopt it.
    """
    for found in segments.orphans(directory, owner, SUFFIX):
        try:
            journal = AdoptedJournal(found)
        except BaseException:
            for segment in found:
                segment.close()
            raise
        yield journal
