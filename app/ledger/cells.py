"""Cells: how far each Redis's usage is in the ledger, as its workers record it.

A cell is one Redis with its web processes and workers. Several cells may post to one ledger. A row
is written after the entries that it vouches for, so whoever reads it, also from a replica that
lags, has those entries, too.
"""

from dataclasses import dataclass

from sqlalchemy import Connection, Engine, delete, select

from app.storage.sql.tables import cells
from app.storage.sql.transactions import insert, reading, write

#: A worker records its cell every few seconds, in the longest case after ten seconds of posting. A
#: cell that was recorded less than this ago is live.
PATIENCE_S = 60


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell, and the time before which the ledger has all of its requests; times in Unix ms."""

    cell_id: str
    complete_until_ms: int
    written_at_ms: int


def record_cell(engine: Engine, cell: Cell) -> None:
    """Store a cell's row.

    Read `complete_until_ms` from the cell's Redis before this call.
    Raises: LedgerUnavailable.
    """
    values = {name: getattr(cell, name) for name in cells.c.keys()}  # noqa: SIM118 - no mapping
    write(engine, lambda connection: _upsert(connection, values))


def _upsert(connection: Connection, values: dict[str, object]) -> None:
    statement = insert(connection, cells).values(values)
    connection.execute(statement.on_conflict_do_update(index_elements=["cell_id"], set_=values))


def read_cells(connection: Connection) -> list[Cell]:
    """Return all cells that have ever recorded how far they are, by id."""
    rows = connection.execute(select(cells).order_by(cells.c.cell_id))
    return [Cell(**row._mapping) for row in rows]


def list_cells(engine: Engine) -> list[Cell]:
    """Return all cells, by id.

    Raises: LedgerUnavailable.
    """
    with reading(engine) as connection:
        return read_cells(connection)


def forget_cell(engine: Engine, cell_id: str, *, idle_since_ms: int) -> bool:
    """Delete the row of a cell that no longer exists; return whether there was one.

    A cell that was recorded since `idle_since_ms` (Unix ms) stays: its worker runs.
    Raises: LedgerUnavailable.
    """
    idle = (cells.c.cell_id == cell_id, cells.c.written_at_ms < idle_since_ms)
    statement = delete(cells).where(*idle)
    return bool(write(engine, lambda connection: connection.execute(statement).rowcount))
