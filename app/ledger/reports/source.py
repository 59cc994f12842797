"""Reports: chooses the database that answers a report, a read replica or the primary.

Does not depend on HTTP or on Redis.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import Engine

from app.ledger.cells import Cell, list_cells
from app.ledger.reports.latencies import LatencyReader
from app.ledger.reports.lookup import RequestLookup
from app.ledger.reports.reader import UsageReader
from app.ledger.reports.recent import RecentReader
from app.ledger.reports.refusals import RefusalReader
from app.vocabulary.errors import LedgerUnavailable

#: How long reports read from the primary after the replica has failed, in seconds.
RETRY_S = 10.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ReportSource:
    """The database of one report, and what it has of each cell.

    A query of this source is at least as complete as `cells` says.
    """

    engine: Engine
    is_replica: bool
    cells: Sequence[Cell]

    @property
    def usage(self) -> UsageReader:
        """The reader of totals."""
        return UsageReader(self.engine)

    @property
    def latencies(self) -> LatencyReader:
        """The reader of how requests ended, and how long they took."""
        return LatencyReader(self.engine)

    @property
    def refusals(self) -> RefusalReader:
        """The reader of refused requests."""
        return RefusalReader(self.engine)

    @property
    def recent(self) -> RecentReader:
        """The reader of single requests."""
        return RecentReader(self.engine)

    @property
    def lookup(self) -> RequestLookup:
        """The finder of requests by their ids."""
        return RequestLookup(self.engine)

    def complete_until_ms(self, cell_id: str, own_ms: float) -> float | None:
        """Return the time before which this source has every request's usage, in Unix ms.

        `own_ms` is how far the cell `cell_id` is according to its Redis. A replica may not have
        that yet, so its own row counts there. None if it has no row.
        """
        known = {it.cell_id: float(it.complete_until_ms) for it in self.cells}
        if not self.is_replica:
            known[cell_id] = own_ms
        return min(known.values()) if cell_id in known else None


class Reports:
    """Opens a source for each report; thread-safe.

    If the replica does not respond to the first query, the report reads from the primary, and so do
    those of the next RETRY_S. A replica that fails later in a report fails that report.
    """

    def __init__(
        self,
        primary: Engine,
        replica: Engine | None = None,
        *,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._primary = primary
        self._replica = replica
        self._clock_s = clock_s
        self._retry_at_s = clock_s()

    def open(self) -> ReportSource:
        """Return the source of one report; use it for all of the report's queries.

        Raises: LedgerUnavailable.
        """
        if self._replica is not None and self._clock_s() >= self._retry_at_s:
            try:
                return ReportSource(self._replica, True, list_cells(self._replica))
            except LedgerUnavailable as exc:
                self._retry_at_s = self._clock_s() + RETRY_S
                logger.warning(
                    "the read replica is unavailable: reports read from the primary: %s", exc
                )
        return ReportSource(self._primary, False, list_cells(self._primary))

    def close(self) -> None:
        """Close the connections to both databases; a later report opens others."""
        for engine in (self._primary, self._replica):
            if engine is not None:
                engine.dispose()
