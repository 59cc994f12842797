"""A real PostgreSQL server for tests and benchmarks, on a Unix socket, gone when it is stopped."""

import contextlib
import os
import pwd
import random
import shutil
import signal
import subprocess
import tempfile
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from sqlalchemy import make_url

from app.storage.sql.migrations import upgrade
from tests.support.processes import end
from tests.support.services.polling import wait_until

TEMPLATE = "migrated"
_SETTINGS = ("listen_addresses=", "max_connections=100")
_FORGETFUL = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")


def find_binaries() -> Path | None:
    """Return the folder of the newest PostgreSQL server here, None when there is none."""
    if found := shutil.which("postgres"):
        return Path(found).resolve().parent
    installed = Path("/usr/lib/postgresql").glob("*/bin/postgres")
    newest = max(installed, key=lambda path: int(path.parts[-3]), default=None)
    return newest and newest.parent


class Postgres:
    """One server, and a fresh database with Tollgate's schema for whoever asks.

    `durable`: what is committed outlives a power cut, as it does in a deployment.
    """

    def __init__(self, binaries: Path, *, durable: bool = False) -> None:
        self._binaries = binaries
        self._options = _SETTINGS if durable else (*_SETTINGS, *_FORGETFUL)
        # Not below pytest's folder: a socket's path is short, and an unprivileged server must
        # be able to get there.
        self._folder = Path(tempfile.mkdtemp(prefix="tollgate-pg-"))
        self._numbers = count()
        self._server: subprocess.Popen[bytes] | None = None
        self._user = server_user()
        shutil.chown(self._folder, self._user)

    def start(self) -> "Postgres":
        """Start the server and make the migrated template."""
        self._run(
            "initdb", "-D", self._cluster, "-U", "postgres", "-A", "trust", "-E", "UTF8", "-N"
        )
        self.serve()
        self._execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(TEMPLATE)))
        upgrade(self._url(TEMPLATE))
        return self

    def serve(self) -> None:
        """Have the server run and answer, with all that it holds."""
        if self._server is not None and self._server.poll() is None:
            wait_until(self._answers)
            return
        settings = [word for setting in self._options for word in ("-c", setting)]
        with self._log.open("ab") as log:
            self._server = subprocess.Popen(
                [self._binaries / "postgres", "-D", self._cluster, "-k", self._folder, *settings],
                user=self._user,
                cwd=self._folder,
                stdout=log,
                stderr=log,
            )
        wait_until(self._answers)

    def crash(self) -> None:
        """End every process at once; the next start recovers from the log."""
        end(self._running, signal.SIGQUIT)

    def back_up(self) -> None:
        """Copy the files of a server that has ended."""
        shutil.rmtree(self._backup, ignore_errors=True)
        self._copy(self._cluster, self._backup)

    def restore(self) -> None:
        """Replace the files of a server that has ended by the copy."""
        shutil.rmtree(self._cluster)
        self._copy(self._backup, self._cluster)

    @staticmethod
    def _copy(folder: Path, to: Path) -> None:
        subprocess.run(["cp", "-a", folder, to], check=True)  # owners, too

    def kill_child(self, dice: random.Random) -> None:
        """Kill one process: the others end with it, and the server recovers by itself."""
        if children := self._children():
            _send(signal.SIGKILL, dice.choice(children))

    def pause(self) -> None:
        """Answer nothing, old connections and new."""
        for pid in [self._running.pid, *self._children()]:
            _send(signal.SIGSTOP, pid)

    def resume(self) -> None:
        """Answer again."""
        if self._running.poll() is None:
            for pid in [self._running.pid, *self._children()]:
                _send(signal.SIGCONT, pid)

    def disconnect_all(self) -> None:
        """Break every connection."""
        self._execute(
            sql.SQL(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )
        )

    @property
    def pid(self) -> int:
        """Its first process, parent of the others."""
        return self._running.pid

    @property
    def _running(self) -> "subprocess.Popen[bytes]":
        assert self._server is not None, "the server has not been started"
        return self._server

    def _children(self) -> list[int]:
        pid = self._running.pid
        return [int(it) for it in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]

    def create(self, template: str = TEMPLATE) -> str:
        """Return the URL of a new database: a migrated one, or with `template0` an empty one."""
        name = self._new_name()
        self._execute(
            sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
                sql.Identifier(name), sql.Identifier(template)
            )
        )
        return self._url(name)

    def add_user(self, name: str, password: str) -> None:
        """Let a superuser log in, who needs a password; the others need none."""
        with self.connect() as connection:
            if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [name]).fetchone():
                return
            user, secret = sql.Identifier(name), sql.Literal(password)
            role = sql.SQL("CREATE ROLE {} SUPERUSER LOGIN PASSWORD {}").format(user, secret)
            connection.execute(role)
            rules = self._cluster / "pg_hba.conf"
            rules.write_text(f"local all {name} scram-sha-256\n{rules.read_text()}")
            connection.execute("SELECT pg_reload_conf()")

    def rename(self, url: str) -> str:
        """Give a database that nobody is connected to another name; return its new URL."""
        name = self._new_name()
        self._execute(
            sql.SQL("ALTER DATABASE {} RENAME TO {}").format(
                sql.Identifier(_name(url)), sql.Identifier(name)
            )
        )
        return self._url(name)

    def drop(self, url: str) -> None:
        """Drop a database, also while somebody is connected."""
        self._execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(_name(url))))

    def stop(self) -> None:
        """Stop the server and remove its folder."""
        if self._server is not None:
            end(self._server, signal.SIGINT)  # a "fast" shutdown: it waits for nobody
        shutil.rmtree(self._folder)

    @property
    def folder(self) -> Path:
        """Where its socket is."""
        return self._folder

    @property
    def _cluster(self) -> Path:
        return self._folder / "cluster"

    @property
    def _backup(self) -> Path:
        return self._folder / "backup"

    @property
    def _log(self) -> Path:
        return self._folder / "log"

    def _new_name(self) -> str:
        return f"test_{next(self._numbers)}"

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

    def connect(self, database: str = "postgres") -> "psycopg.Connection[Any]":
        """Return a connection that commits each statement."""
        return psycopg.connect(
            host=str(self._folder), user="postgres", dbname=database, autocommit=True
        )

    def _execute(self, statement: sql.SQL | sql.Composed) -> None:
        with self.connect() as connection:
            connection.execute(statement)


def _name(url: str) -> str:
    name = make_url(url).database
    assert name is not None
    return name


def _send(by: signal.Signals, pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):  # it has just ended
        os.kill(pid, by)


def server_user() -> str:
    """Return who runs the server: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid()).pw_name
    names = {user.pw_name for user in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"
