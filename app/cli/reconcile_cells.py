"""The part of `tollgate reconcile` that checks whether all cells still record how far they are."""

import time
from collections.abc import Iterator

from sqlalchemy import Engine

from app.cli.times import show_time
from app.ledger.cells import PATIENCE_S, list_cells


def cell_problems(engine: Engine) -> Iterator[str]:
    """Yield a problem for each cell that has recorded nothing for PATIENCE_S.

    Raises: LedgerUnavailable.
    """
    since_ms = (time.time() - PATIENCE_S) * 1000
    for cell in list_cells(engine):
        if cell.written_at_ms < since_ms:
            yield (
                f"The cell {cell.cell_id} has posted nothing since {show_time(cell.written_at_ms)},"
                " and x-tollgate-complete-until waits for it. Check its worker and beat. If its"
                f" Redis no longer exists: tollgate cells forget {cell.cell_id}"
            )
