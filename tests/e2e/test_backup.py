"""docs/backup.md by use: a backup is taken under load, all is lost, and it is restored by the page.

The command `tollgate-backup` and the page's lines run as they are, but for names of users, units,
databases and directories.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from psycopg import connect

from app.settings import ROOT, Settings
from tests.e2e.load import Load, posted, settle
from tests.support.gateway import Gateway, gunicorn, vendor_table, with_account
from tests.support.operator import Operator, adapted, commands, program
from tests.support.services.celery_worker import ALONE, CeleryWorker
from tests.support.services.polling import wait_until
from tests.support.services.postgres import Postgres, find_binaries
from tests.support.services.valkey import Valkey
from tests.support.vendor import SimulatedVendor

SETTINGS = "/etc/tollgate/tollgate.env"
AS_TOLLGATE = "setpriv --reuid=tollgate --regid=tollgate --init-groups"


@pytest.fixture(scope="module")
def redis_cli() -> str:
    """The program; a laptop without it skips these tests."""
    found = shutil.which("redis-cli")
    if found is None:
        assert "CI" not in os.environ, "CI restores a backup: install redis-tools"
        pytest.skip("no redis-cli here")
    return found


@pytest.fixture
def database() -> Iterator[str]:
    """The URL of the database `tollgate` of its owner, on a server of its own."""
    binaries = find_binaries()
    if binaries is None:
        assert "CI" not in os.environ, "CI restores a backup: install PostgreSQL"
        pytest.skip("no PostgreSQL server here")
    server = Postgres(binaries)
    try:
        host = str(server.start().folder)
        with connect(host=host, user="postgres", dbname="postgres", autocommit=True) as connection:
            connection.execute("CREATE ROLE tollgate SUPERUSER LOGIN")
            connection.execute("CREATE DATABASE tollgate OWNER tollgate")
        yield f"postgresql://tollgate@/tollgate?host={host}"
    finally:
        server.stop()


@dataclass
class Machine:
    """The one machine of docs/deploying.md, with its services."""

    root: Path
    env: dict[str, str]
    valkey: Valkey
    worker: CeleryWorker
    web: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)
    url: str = ""
    #: What `tollgate reconcile` said last.
    found: "subprocess.CompletedProcess[str] | None" = None

    @property
    def spool(self) -> Path:
        """Where the spool and the journals are."""
        return self.root / "spool"

    def start_web(self) -> None:
        """Start the web process, if it does not run."""
        if not self.url:
            self.url, _ = self.web.enter_context(gunicorn(self.env, self.root / "web.log"))

    def stop(self) -> None:
        """Stop all that is Tollgate's."""
        self.web.close()
        self.url = ""
        self.worker.kill()

    def release(self) -> None:
        """Migrate the ledger."""
        self.tollgate("db", "upgrade")

    def tollgate(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Run a command of Tollgate's."""
        return subprocess.run(
            [sys.executable, "-m", "app.cli", *words],
            cwd=ROOT,
            env={**os.environ, **self.env},
            capture_output=True,
            text=True,
            check=words[0] != "reconcile",
        )

    def is_well(self) -> bool:
        """Whether `tollgate reconcile` finds no problems and nothing on its way."""
        self.found = done = self.tollgate("reconcile", "--json")
        return done.returncode == 0 and '"missing": []' in done.stdout

    def write_off(self, most: int) -> None:
        """Wait until nothing is amiss but some missing requests, and write those off."""
        wait_until(self._lacks_at_most(most), deadline_s=120, every_s=1)
        self.tollgate("reconcile", "--write-off")

    def _lacks_at_most(self, most: int) -> Callable[[], bool]:
        def is_so() -> bool:
            found = json.loads(self.tollgate("reconcile", "--json").stdout)
            is_told = all(it.startswith("Requests whose usage is") for it in found["problems"])
            count = sum(gap["last"] - gap["first"] + 1 for gap in found["missing"])
            return is_told and (not count or (bool(found["problems"]) and count <= most))

        return is_so

    def wait_until_well(self) -> None:
        """Wait until `tollgate reconcile` finds no problems; a failure has what it finds."""
        with contextlib.suppress(TimeoutError):
            wait_until(self.is_well, deadline_s=120, every_s=1)
        assert self.is_well(), self.found


@pytest.fixture
def machine(tmp_path: Path, database: str, vendor: SimulatedVendor) -> Iterator[Machine]:
    """It runs, with an empty ledger."""
    (tmp_path / "redis").mkdir()
    (tmp_path / "vendors.toml").write_text(vendor_table(vendor.url))
    valkey = Valkey(tmp_path / "redis", persistent=True, durable=True).start()
    env = {
        "REDIS_URL": valkey.url,
        "DATABASE_URL": database,
        "TOLLGATE_VENDORS": str(tmp_path / "vendors.toml"),
        "TOLLGATE_SPOOL_DIR": str(tmp_path / "spool"),
        "SIM_API_KEY": "sk-simulated-secret",
    }
    it = Machine(tmp_path, env, valkey, CeleryWorker(tmp_path / "worker.log", env, ALONE))
    try:
        it.release()
        it.worker.start()
        it.start_web()
        yield it
    finally:
        it.stop()
        valkey.kill()


def operator(it: Machine, redis_cli: str) -> Operator:
    """Somebody who has installed what the page names."""
    tools = it.root / "tools"
    environment = it.root / "tollgate.env"
    environment.write_text("".join(f"{name}={value}\n" for name, value in it.env.items()))
    program(tools / "redis-cli", f'#!/bin/sh\nexec {redis_cli} -p {it.valkey.port} "$@"\n')
    tollgate = f'#!/bin/sh\ncd {ROOT}\nexec {sys.executable} -m app.cli "$@"\n'
    program(tools / "tollgate", tollgate)
    places = {"/var/lib/redis": str(it.root / "redis")}
    script = (ROOT / "docs" / "systemd" / "tollgate-backup").read_text()
    changes = {SETTINGS: str(environment), AS_TOLLGATE: "env", **places}
    program(tools / "tollgate-backup", adapted(script, changes))
    host = it.env["DATABASE_URL"].partition("host=")[2]
    return Operator(
        tools,
        {**it.env, "PGHOST": host, "PGUSER": "tollgate", "BACKUP": str(it.root / "backup")},
        places
        | {
            "/var/lib/tollgate/spool": str(it.spool),
            "install -d -o tollgate -g tollgate": "install -d",
            "chown -R redis:redis": "ls",
            "chown -R tollgate:tollgate": "ls",
            # The test itself is connected.
            "dropdb --if-exists tollgate": "dropdb --if-exists --force tollgate",
        },
        {
            "stop tollgate.target": it.stop,
            "stop tollgate-worker": it.worker.kill,
            "stop tollgate-beat": lambda: None,
            "start tollgate.target": it.start_web,
            "start tollgate-release": it.release,
            "start tollgate-worker": lambda: (it.worker.start(), None)[1],
            "start tollgate-beat": lambda: None,
            "stop redis-server": it.valkey.kill,
            "start redis-server": lambda: (it.valkey.start(), None)[1],
        },
    )


@contextlib.contextmanager
def under_load(it: Machine, account_id: str) -> Iterator[tuple[Gateway, Load]]:
    """Yield a gateway with callers, who have got 100 answers."""
    with with_account(it.url, Settings.from_env(it.env), account_id) as gateway:
        load = Load(gateway)
        load.start()
        try:
            load.more(100)
            yield gateway, load
        finally:
            load.stop()


def back_up(it: Machine, at_hand: Operator) -> None:
    """Take a backup into the directory that BACKUP names."""
    at_hand.does([f"tollgate-backup {it.root / 'backups'}"])
    (made,) = (it.root / "backups").iterdir()
    assert {path.name for path in made.iterdir()} == {
        "spool.tar.gz",
        "redis.tar.gz",
        "ledger.dump",
    }
    made.rename(it.root / "backup")


def test_all_is_lost_and_what_the_backup_has_is_there_once(
    machine: Machine, redis_cli: str
) -> None:
    at_hand = operator(machine, redis_cli)
    with under_load(machine, "acme") as (gateway, load):
        before = len(load.answered)
        back_up(machine, at_hand)
        covered = load.answered[:before]
        load.more(100)
        load.stop()
        every = Counter(load.answered)
        machine.stop()
        shutil.rmtree(machine.spool)
        shutil.rmtree(machine.root / "redis" / "appendonlydir")
        at_hand.does(commands("backup.md", "### Everything was lost"))
        wait_until(lambda: not Counter(covered) - posted(gateway))
        settle(gateway, machine.spool)
        machine.write_off(most=len(load.answered) - before)
        machine.wait_until_well()
        there = posted(gateway)
    assert not there - every  # none twice, and none that nobody got
    assert (every - there).total() >= 50  # what came after the backup


def test_the_ledger_is_lost_and_what_it_lacks_is_found_in_the_journals(
    machine: Machine, redis_cli: str
) -> None:
    """How much is told where no journal has it: tests/e2e/test_losses.py."""
    at_hand = operator(machine, redis_cli)
    with under_load(machine, "beta") as (gateway, load):
        back_up(machine, at_hand)
        load.more(100)
        load.stop()
        settle(gateway, machine.spool)
        every = Counter(load.answered)
        wait_until(lambda: not every - posted(gateway))
        at_hand.does(commands("backup.md", "### Only the ledger was lost"))
        wait_until(lambda: not every - posted(gateway), deadline_s=120)
        machine.wait_until_well()
        assert posted(gateway) == every
