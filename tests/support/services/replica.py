"""A real streaming replica of a PostgreSQL server: a hot standby, which lags when it is told to."""

from pathlib import Path

from psycopg import sql
from sqlalchemy import make_url

from tests.support.services.postgres import Postgres


class Replica(Postgres):
    """A standby that serves reads."""

    def __init__(self, binaries: Path, primary: Postgres) -> None:
        super().__init__(binaries)
        self._primary = primary

    def start(self) -> "Replica":
        """Copy the primary, follow it, and serve."""
        source = ("-h", self._primary.folder, "-U", "postgres")
        options = ("-R", "-X", "stream", "-c", "fast", "--no-sync")
        self._run("pg_basebackup", *source, "-D", self._cluster, *options)
        self.serve()
        return self

    def url_of(self, primary_url: str) -> str:
        """Return the URL of a database of the primary, here."""
        return self._url(str(make_url(primary_url).database))

    def pause_replay(self) -> None:
        """Lag behind from now on."""
        self._execute(sql.SQL("SELECT pg_wal_replay_pause()"))

    def resume_replay(self) -> None:
        """Catch up, and follow again."""
        self._execute(sql.SQL("SELECT pg_wal_replay_resume()"))
