"""A real PgBouncer, with its defaults but for what it needs to run, in front of a PostgreSQL."""

import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from sqlalchemy import make_url

from tests.support.services.polling import wait_until
from tests.support.services.ports import free_port
from tests.support.services.postgres import server_user

CONFIGURATION = """
[databases]
* = host={host}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {folder}/users
pool_mode = transaction
"""


def find_pgbouncer() -> str | None:
    """Return where PgBouncer is, None when it is not here."""
    return shutil.which("pgbouncer", path="/usr/sbin:/usr/bin:/usr/local/bin:/usr/local/sbin")


class PgBouncer:
    """One PgBouncer in transaction mode in front of the server of `url`."""

    def __init__(self, program: str, url: str) -> None:
        self._url = make_url(url)
        self.port = free_port()
        self._folder = Path(tempfile.mkdtemp(prefix="tollgate-pgb-"))
        (self._folder / "users").write_text('"postgres" ""\n')
        host = self._url.query["host"]
        text = CONFIGURATION.format(host=host, port=self.port, folder=self._folder)
        (self._folder / "pgbouncer.ini").write_text(text)
        for path in (self._folder, *self._folder.iterdir()):
            shutil.chown(path, server_user())
        self._program = program

    def start(self) -> "PgBouncer":
        """Start it and wait until it listens."""
        self._log = (self._folder / "log").open("wb")
        self._process = subprocess.Popen(
            [self._program, self._folder / "pgbouncer.ini"],
            user=server_user(),
            cwd=self._folder,
            stdout=self._log,
            stderr=self._log,
        )
        wait_until(lambda: self._process.poll() is not None or "listening on" in self.log())
        assert self._process.poll() is None, self.log()
        return self

    def log(self) -> str:
        """What it has written so far."""
        return (self._folder / "log").read_text()

    def url(self, database_url: str | None = None) -> str:
        """Return a database's URL as DATABASE_URL spells it, through PgBouncer."""
        name = make_url(database_url or self._url).database
        return f"postgres://postgres@127.0.0.1:{self.port}/{name}"

    def stop(self) -> None:
        """Stop it and remove its folder."""
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(60)
        self._log.close()
        shutil.rmtree(self._folder)
