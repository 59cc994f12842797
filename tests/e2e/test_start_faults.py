"""Processes that cannot start: each says one thing, once. An outage stops none of them.

They run as the Procfile says, on a PostgreSQL and a Redis that ask for passwords.
"""

import json
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
import requests
from sqlalchemy import make_url

from app.devstack.procfile import PROCFILE, read_procfile
from app.settings import ROOT
from app.storage.sql.migrations import known_revisions
from tests.support.names import need_name_server
from tests.support.ports import free_port, lasting_port
from tests.support.processes import KILLED_S, ended, started
from tests.support.services.polling import wait_until
from tests.support.services.postgres import Postgres
from tests.support.services.valkey import Valkey
from tests.support.tools import tool_env

USER = "tollgate_with_password"
SECRET = "hunter2-of-the-database"
REDIS_SECRET = "hunter2-of-redis"

#: A process that cannot start says so within two seconds; the machine of a test is shared.
PROMISED_S = 2.0
SLACK_S = 18.0

COMMANDS = read_procfile(PROCFILE.read_text(encoding="utf-8"))
SERVING = ("web", "worker", "beat")
#: Beat checks what a worker checks, by the same code.
TWO = ("web", "worker")


@dataclass(frozen=True)
class Services:
    """Where the services are, and how their addresses can be wrong."""

    valkey: Valkey
    postgres: Postgres
    directory: Path
    migrated: str
    env: Mapping[str, str]

    def database(self, *, name: str = "", password: str = SECRET, host: str = "") -> str:
        """Return DATABASE_URL, or one in which a part is wrong."""
        name, host = name or self.migrated, host or str(self.postgres.folder)
        return f"postgres://{USER}:{password}@/{name}?host={host}"

    def redis(self, login: str = f":{REDIS_SECRET}@", host: str = "", number: int = 0) -> str:
        """Return REDIS_URL, or one in which a part is wrong."""
        return f"redis://{login}{host or f'127.0.0.1:{self.valkey.port}'}/{number}"

    def write(self, name: str, text: str) -> str:
        """Return the path of a new file."""
        path = self.directory / name
        path.write_text(text)
        return str(path)

    def empty_database(self) -> str:
        """Return the name of a database without tables."""
        return name_of(self.postgres.create("template0"))

    def old_database(self) -> str:
        """Return the name of a database that lacks migrations."""
        url = self.postgres.create()
        with self.postgres.connect(name_of(url)) as connection:
            connection.execute("UPDATE alembic_version SET version_num = %s", known_revisions()[:1])
        return name_of(url)


def name_of(url: str) -> str:
    """Return the database that a URL names."""
    name = make_url(url).database
    assert name is not None
    return name


@pytest.fixture(scope="module")
def services(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    directory = tmp_path_factory.mktemp("services")
    valkey = Valkey(directory, password=REDIS_SECRET).start()
    postgres.add_user(USER, SECRET)
    migrated = name_of(postgres.create())
    env = {**tool_env(directory), "WEB_CONCURRENCY": "4", "TOLLGATE_LOG_FORMAT": "json"}
    env |= {"TOLLGATE_SPOOL_DIR": str(directory / "spool")}
    found = Services(valkey, postgres, directory, migrated, env)
    env |= {"REDIS_URL": found.redis(), "DATABASE_URL": found.database()}
    yield found
    valkey.stop()


Fault = tuple[Callable[[Services], dict[str, str]], tuple[str, ...], str]

FAULTS: dict[str, Fault] = {
    "wrong Redis password": (
        lambda it: {"REDIS_URL": it.redis(":hunter2-wrong@")},
        SERVING,
        "REDIS_URL: Redis at 127.0.0.1:PORT rejects the login",
    ),
    "wrong Redis host": (
        lambda it: {"REDIS_URL": it.redis(host="redis.invalid")},
        TWO,
        "REDIS_URL: the host of redis.invalid:6379 cannot be resolved",
    ),
    "wrong Redis database": (
        lambda it: {"REDIS_URL": it.redis(number=99)},
        TWO,
        "REDIS_URL: Redis at 127.0.0.1:PORT has no database of this number",
    ),
    "wrong database password": (
        lambda it: {"DATABASE_URL": it.database(password="hunter2-wrong")},
        (*SERVING, "release"),
        f"DATABASE_URL: PostgreSQL at FOLDER rejects the password of the user '{USER}'",
    ),
    "wrong database host": (
        lambda it: {"DATABASE_URL": it.database(host="postgres.invalid")},
        (*SERVING, "release"),
        "DATABASE_URL: the host of PostgreSQL at postgres.invalid cannot be resolved",
    ),
    "wrong database name": (
        lambda it: {"DATABASE_URL": it.database(name="nosuch")},
        (*SERVING, "release"),
        "DATABASE_URL: PostgreSQL at FOLDER has no database 'nosuch'",
    ),
    "no migrations": (
        lambda it: {"DATABASE_URL": it.database(name=it.empty_database())},
        SERVING,
        "has no tables yet: run `tollgate db upgrade`",
    ),
    "missing migrations": (
        lambda it: {"DATABASE_URL": it.database(name=it.old_database())},
        TWO,
        f"lacks migrations ({known_revisions()[0]}, not {known_revisions()[-1]}):"
        " run `tollgate db upgrade`",
    ),
    "no SQLite file": (
        lambda it: {"DATABASE_URL": f"sqlite:///{it.directory}/none.db"},
        TWO,
        "DATABASE_URL: there is no file DIRECTORY/none.db yet: run `tollgate db upgrade`",
    ),
    "no SQLite database": (
        lambda it: {"DATABASE_URL": "sqlite:///" + it.write("text.db", "no database" * 99)},
        TWO,
        "DATABASE_URL: DIRECTORY/text.db is not a SQLite database",
    ),
    "a setting": (
        lambda _: {"TOLLGATE_ON_REDIS_DOWN": "perhaps", "TOLLGATE_CELL": "x" * 99},
        SERVING,
        "(1 more: run `tollgate config check`)",
    ),
    "the price file": (
        lambda it: {"TOLLGATE_PRICES": it.write("prices.toml", "[[prices]]\nmodel = 1\n")},
        TWO,
        "TOLLGATE_PRICES: DIRECTORY/prices.toml",
    ),
    "the vendor table": (
        lambda it: {"TOLLGATE_VENDORS": it.write("vendors.toml", "[vendors.x]\nnative = 3\n")},
        ("web",),
        "TOLLGATE_VENDORS: vendors.x.",
    ),
    "a port": (lambda _: {"PORT": "http"}, ("web",), "PORT must be a whole number"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_process_that_cannot_start_says_one_thing_once(services: Services, fault: str) -> None:
    change, kinds, expected = FAULTS[fault]
    if "cannot be resolved" in expected:
        need_name_server()
    env = {**services.env, **change(services)}
    places = {"PORT": str(services.valkey.port)} if "127.0.0.1:PORT" in expected else {}
    places |= {"FOLDER": str(services.postgres.folder), "DIRECTORY": str(services.directory)}
    for name, place in places.items():
        expected = expected.replace(name, place)
    for kind in kinds:
        begun_s = time.monotonic()
        run = run_once(kind, env)
        assert time.monotonic() - begun_s < PROMISED_S + SLACK_S, kind
        lines = run.stderr.splitlines()
        assert (run.returncode, run.stdout) == (1, ""), (kind, run)
        assert len(lines) <= 2, lines
        assert run.stderr.count(expected) == 1, (kind, run.stderr)
        assert "hunter2" not in run.stderr
        if kind != "release":
            assert [json.loads(it)["level"] for it in lines][-1] == "critical"


def run_once(kind: str, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a line of the Procfile until it ends."""
    process = subprocess.Popen(
        ["sh", "-c", f"exec {COMMANDS[kind]}"],
        cwd=ROOT,
        env=dict(env),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        stdout, stderr = process.communicate(timeout=PROMISED_S + SLACK_S)
    except subprocess.TimeoutExpired:
        process.kill()
        stdout, stderr = process.communicate(timeout=KILLED_S)
    return subprocess.CompletedProcess(kind, ended(process), stdout, stderr)


def test_a_port_in_use_is_said_once(services: Services) -> None:
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("0.0.0.0", 0)))  # noqa: S104
        port = listener.getsockname()[1]
        run = run_once("web", {**services.env, "PORT": str(port)})
    assert run.returncode == 1
    assert run.stderr.count(f"cannot listen on 0.0.0.0:{port} (Address already in use)") == 1
    assert len(run.stderr.splitlines()) == 2


def test_an_outage_stops_no_process_from_starting(services: Services, tmp_path: Path) -> None:
    """Redis and the database are down; then Redis comes up, and all go on."""
    directory = tmp_path / "valkey"
    directory.mkdir()
    valkey, port = Valkey(directory), free_port()
    nowhere = f"postgres://{USER}:{SECRET}@127.0.0.1:{lasting_port()}/x"
    env = {**services.env, "REDIS_URL": valkey.url, "DATABASE_URL": nowhere, "PORT": str(port)}
    logs = {kind: tmp_path / f"{kind}.log" for kind in SERVING}
    with ExitStack() as stack:
        for kind, log in logs.items():
            output = stack.enter_context(log.open("w"))
            command = ["sh", "-c", f"exec {COMMANDS[kind]}"]
            stack.enter_context(
                started(command, cwd=ROOT, env=env, stdout=output, stderr=subprocess.STDOUT)
            )
        for log in logs.values():
            wait_until(partial(says_twice, log))
        wait_until(lambda: status(port, "livez") == 200)
        assert status(port, "readyz") == 503
        valkey.start()
        stack.callback(valkey.stop)
        wait_until(lambda: " ready." in logs["worker"].read_text())
        wait_until(lambda: redis_state(port) == "ok")
        assert all("Connection refused" in log.read_text() for log in logs.values())
        assert not any("hunter2" in log.read_text() for log in logs.values())


def says_twice(log: Path) -> bool:
    return log.read_text().count("starting although a service is down") == 2


def status(port: int, path: str) -> int:
    try:
        return requests.get(f"http://127.0.0.1:{port}/{path}", timeout=60).status_code
    except requests.ConnectionError:
        return 0


def redis_state(port: int) -> str:
    state: str = requests.get(f"http://127.0.0.1:{port}/readyz", timeout=60).json()["redis"]
    return state
