"""A real PostgreSQL server for the tests, on a Unix socket, with nothing kept for ever."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from itertools import count
from pathlib import Path

import psycopg
from psycopg import sql

from app.database import upgrade
from tests.services.polling import wait_until

TEMPLATE = "migrated"
_SETTINGS = (
    "listen_addresses=",
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "max_connections=100",
)


def find_binaries() -> Path | None:
    """Return the folder of the newest PostgreSQL server here, None when there is none."""
    if found := shutil.which("postgres"):
        return Path(found).resolve().parent
    installed = Path("/usr/lib/postgresql").glob("*/bin/postgres")
    newest = max(installed, key=lambda path: int(path.parts[-3]), default=None)
    return newest and newest.parent


class Postgres:
    """One server, and a fresh database with Tollgate's schema for whoever asks."""

    def __init__(self, binaries: Path) -> None:
        self._binaries = binaries
        # Not below pytest's folder: a socket's path is short, and an unprivileged server must
        # be able to get there.
        self._folder = Path(tempfile.mkdtemp(prefix="tollgate-pg-"))
        self._numbers = count()
        self._server: subprocess.Popen[bytes] | None = None
        self._user = _server_user()
        shutil.chown(self._folder, self._user)

    def start(self) -> "Postgres":
        """Start the server and make the migrated template."""
        self._run(
            "initdb", "-D", self._cluster, "-U", "postgres", "-A", "trust", "-E", "UTF8", "-N"
        )
        settings = [word for setting in _SETTINGS for word in ("-c", setting)]
        with self._log.open("wb") as log:
            self._server = subprocess.Popen(
                [self._binaries / "postgres", "-D", self._cluster, "-k", self._folder, *settings],
                user=self._user,
                cwd=self._folder,
                stdout=log,
                stderr=log,
            )
        wait_until(self._answers)
        self._execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(TEMPLATE)))
        upgrade(self._url(TEMPLATE))
        return self

    def create(self, template: str = TEMPLATE) -> str:
        """Return the URL of a new database: a migrated one, or with `template0` an empty one."""
        name = f"test_{next(self._numbers)}"
        self._execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
                sql.Identifier(name), sql.Identifier(template)
            )
        )
        return self._url(name)

    def drop(self, url: str) -> None:
        """Drop a database, also while somebody is connected."""
        name = url.rpartition("/")[2].partition("?")[0]
        self._execute(
            sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
        )

    def stop(self) -> None:
        """Stop the server and remove its folder."""
        if self._server is not None:
            self._server.send_signal(signal.SIGINT)  # a "fast" shutdown: it waits for nobody
            self._server.wait(60)
        shutil.rmtree(self._folder)

    @property
    def _cluster(self) -> Path:
        return self._folder / "cluster"

    @property
    def _log(self) -> Path:
        return self._folder / "log"

    def _url(self, name: str) -> str:
        return f"postgresql+psycopg://postgres@/{name}?host={self._folder}"

    def _run(self, program: str, *arguments: str | Path) -> None:
        subprocess.run(
            [self._binaries / program, *arguments],
            user=self._user,
            cwd=self._folder,
            check=True,
            capture_output=True,
        )

    def _answers(self) -> bool:
        assert self._server is not None
        assert self._server.poll() is None, self._log.read_text()
        try:
            self._execute(sql.SQL("SELECT 1"))
        except psycopg.OperationalError:
            return False
        return True

    def _execute(self, statement: sql.SQL | sql.Composed) -> None:
        with psycopg.connect(
            host=str(self._folder), user="postgres", dbname="postgres", autocommit=True
        ) as connection:
            connection.execute(statement)


def _server_user() -> str:
    """Return who runs the server: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid()).pw_name
    names = {user.pw_name for user in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"
