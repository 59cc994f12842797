"""The ledgers under test, and their faults."""

import contextlib
import random
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from app.storage.sql.migrations import upgrade
from tests.support.services.postgres import Postgres


class LedgerServer(Protocol):
    """A ledger's database. Calling a fault causes it; `mend` repairs all of them."""

    @property
    def url(self) -> str:
        """The address, as SQLAlchemy spells it."""
        ...

    @property
    def faults(self) -> Mapping[str, Callable[[random.Random], None]]:
        """Its faults."""
        ...

    def mend(self) -> None:
        """Repair it."""
        ...

    def back_up(self) -> None:
        """Make a backup."""
        ...

    def restore(self) -> None:
        """Restore the last backup, while nothing posts."""
        ...

    def stop(self) -> None:
        """Stop it."""
        ...


class Sqlite:
    """A file, which another program may lock."""

    def __init__(self, root: Path) -> None:
        self._path = root / "ledger.db"
        self._lock: sqlite3.Connection | None = None
        upgrade(self.url)

    @property
    def url(self) -> str:
        """The address."""
        return f"sqlite:///{self._path}"

    @property
    def faults(self) -> Mapping[str, Callable[[random.Random], None]]:
        """Only one: another writer holds the lock."""
        return {"locked": self._take}

    def _take(self, _: random.Random) -> None:
        self._lock = sqlite3.connect(self._path, timeout=60, isolation_level=None)
        self._lock.execute("BEGIN IMMEDIATE")

    def mend(self) -> None:
        """Release the lock."""
        if self._lock is not None:
            self._lock.execute("ROLLBACK")
            self._lock.close()
            self._lock = None

    def back_up(self) -> None:
        """Copy it, as any program may while others use it."""
        self._copy(self._path, self._backup)

    def restore(self) -> None:
        """Replace what is in it by the backup, for those that have it open, too."""
        self._copy(self._backup, self._path)

    @property
    def _backup(self) -> Path:
        return self._path.with_name("ledger-backup.db")

    @staticmethod
    def _copy(path: Path, to: Path) -> None:
        with (
            contextlib.closing(sqlite3.connect(path, timeout=60)) as source,
            contextlib.closing(sqlite3.connect(to, timeout=60)) as target,
        ):
            source.backup(target)

    def stop(self) -> None:
        """Release the lock."""
        self.mend()


class PostgresLedger:
    """A PostgreSQL server."""

    def __init__(self, binaries: Path) -> None:
        self._server = Postgres(binaries).start()
        self.url = self._server.create()

    @property
    def faults(self) -> Mapping[str, Callable[[random.Random], None]]:
        """A crash, a crash of one of its processes, a pause, and lost connections."""
        return {
            "stopped at once": lambda _: self._server.crash(),
            "process killed": self._server.kill_child,
            "paused": lambda _: self._server.pause(),
            "disconnected": lambda _: self._server.disconnect_all(),
        }

    def mend(self) -> None:
        """Have it run and respond."""
        self._server.resume()
        self._server.serve()

    def back_up(self) -> None:
        """Copy its files, as they are after a crash."""
        self._server.crash()
        self._server.back_up()
        self._server.serve()

    def restore(self) -> None:
        """Replace its files by the copy."""
        self._server.crash()
        self._server.restore()
        self._server.serve()

    def stop(self) -> None:
        """Stop it and delete its data."""
        self._server.resume()
        self._server.stop()
