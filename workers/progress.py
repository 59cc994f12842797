"""Progress: records how far this worker's cell is, for reports of other cells and of replicas."""

import time
from collections.abc import Callable

from redis import Redis
from sqlalchemy import Engine

from app.ledger.cells import Cell, record_cell
from app.usage.completeness import complete_until_ms
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.processes import Processes

#: Seconds between two records: a report of a replica is at least as old.
WRITE_S = 5.0


class Progress:
    """The progress of one cell. SQLite's ledger has neither cells nor replicas."""

    def __init__(
        self,
        cell: str,
        redis: "Redis",
        engine: Engine,
        *,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cell = cell
        self._records = OpenRecords(redis)
        self._processes = Processes(redis)
        self._engine = engine
        self._clock_s = clock_s
        self._due_s = clock_s()

    def record(self) -> bool:
        """Record the progress, unless that was done less than WRITE_S ago or it is unknown.

        Returns whether it was recorded.

        Raises: StreamUnavailable, LedgerUnavailable.
        """
        now_s = self._clock_s()
        if now_s < self._due_s or self._engine.dialect.name != "postgresql":
            return False
        # First what Redis knows, then the row: it must not be older than what it vouches for.
        until_ms = complete_until_ms(self._records, self._processes)
        if until_ms is None:
            return False
        record_cell(self._engine, Cell(self._cell, int(until_ms), int(time.time() * 1000)))
        self._due_s = now_s + WRITE_S
        return True
