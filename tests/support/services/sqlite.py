"""SQLite ledgers for tests: migrated once in a process, then copied."""

import functools
from pathlib import Path
from tempfile import TemporaryDirectory

from app.storage.sql.migrations import upgrade


def new_ledger(path: Path) -> str:
    """Make an empty ledger of `path`, with Tollgate's schema; return its URL."""
    path.write_bytes(_migrated())
    return f"sqlite:///{path}"


@functools.cache
def _migrated() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.db"
        upgrade(f"sqlite:///{path}")
        # The last connection is closed: what was in the write-ahead log is in the file.
        return path.read_bytes()
