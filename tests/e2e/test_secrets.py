"""Nothing that a run leaves behind holds a key, a password, a prompt or an answer."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import requests
import sqlalchemy as sa

from app.settings import ROOT, Settings
from tests.support.gateway import Gateway, gunicorn, vendor_table, with_account
from tests.support.services.celery_worker import CeleryWorker
from tests.support.services.polling import wait_until
from tests.support.services.valkey import Valkey
from tests.support.vendor import (
    CUT,
    Reply,
    SimulatedVendor,
    body_of,
    choice,
    json_reply,
    stream_reply,
    usage_of,
)

REDIS_PASSWORD = "redis-pass-9c1f"
DATABASE_PASSWORD = "database-pass-77d0"
VENDOR_KEY = "sk-vendor-key-4be2"
FOREIGN_KEY = "sk-other-service-51aa"
PROMPT = "a-prompt-of-somebody-03ce"
ANSWER = "an-answer-for-somebody-e8b1"

ASK: dict[str, Any] = {"model": "sim/m", "prompt": f"say {PROMPT}", "suffix": PROMPT}
GOOD = body_of(choice(ANSWER, "stop"), usage=usage_of(3, 2))


class Run:
    """A deployment whose secrets are easy to find, and all that it says to callers."""

    def __init__(self, gateway: Gateway, vendor: SimulatedVendor, env: Mapping[str, str]) -> None:
        self.gateway = gateway
        self.vendor = vendor
        self.env = env
        self.unused_key = gateway.add_account("unused")
        self.said: list[bytes] = []
        self.events = 0

    def ask(self, reply: Reply | None, status: int, **change: Any) -> None:
        """Ask for a completion that the vendor answers with `reply`, if it is asked at all."""
        headers = change.pop("headers", {})
        if reply is not None:
            self.vendor.reply(reply)
            self.events += 1
        try:
            response = self.gateway.post({**ASK, **change}, headers=headers)
        except requests.exceptions.ChunkedEncodingError:
            return  # a stream that was cut, after its status
        assert response.status_code == status, response.text
        self.said.append(repr(response.headers).encode() + response.content)

    def get(self, path: str) -> None:
        """Get a page, whatever it is."""
        root = self.gateway.base_url.removesuffix("/v5")
        headers = {"x-api-key": self.gateway.api_key}
        self.said.append(requests.get(f"{root}{path}", headers=headers, timeout=60).content)

    def settle(self) -> None:
        """Wait until the ledger has everything."""
        redis = self.gateway.redis
        wait_until(lambda: not redis.hlen("usage:open") and not redis.xlen("usage:events"))
        statement = sa.text("SELECT count(*) FROM entries")

        def count() -> int:
            with self.gateway.engine.connect() as connection:
                return int(connection.execute(statement).scalar_one())

        wait_until(lambda: count() == self.events)


@pytest.fixture
def valkey(tmp_path: Path) -> Iterator[Valkey]:
    """A Valkey with a password, which writes down all that it is told."""
    directory = tmp_path / "valkey"
    directory.mkdir()
    server = Valkey(directory, persistent=True, password=REDIS_PASSWORD).start()
    yield server
    server.kill()


@pytest.fixture
def run(valkey: Valkey, postgres_url: str, tmp_path: Path) -> Iterator[Run]:
    """Web, worker, ledger and vendor."""
    with ExitStack() as stack:
        vendor = SimulatedVendor()
        stack.callback(vendor.stop)
        table = tmp_path / "vendors.toml"
        table.write_text(vendor_table(vendor.url))
        env = {
            "REDIS_URL": valkey.url,
            "DATABASE_URL": postgres_url.replace("postgres@", f"postgres:{DATABASE_PASSWORD}@"),
            "TOLLGATE_VENDORS": str(table),
            "TOLLGATE_SPOOL_DIR": str(tmp_path / "spool"),
            "SIM_API_KEY": VENDOR_KEY,
        }
        assert DATABASE_PASSWORD in env["DATABASE_URL"]
        worker = CeleryWorker(tmp_path / "worker.log", env)
        stack.callback(worker.kill)
        worker.start()
        url, _ = stack.enter_context(gunicorn(env, tmp_path / "web.log"))
        yield Run(stack.enter_context(with_account(url, Settings.from_env(env))), vendor, env)


def all_goes_well(run: Run) -> None:
    run.ask(json_reply(GOOD), 200, user="somebody")
    run.ask(stream_reply(GOOD), 200, stream=True)


def callers_are_refused(run: Run) -> None:
    run.ask(None, 400, prompt={"text": PROMPT})
    run.ask(None, 400, temperature=PROMPT)
    run.ask(None, 400, **{PROMPT: 1, "model": "picky/m", "best_of": 2})
    run.ask(None, 404, model=f"nobody/{PROMPT}")
    run.ask(None, 401, headers={"x-api-key": FOREIGN_KEY})
    run.ask(None, 401, headers={"x-api-key": "", "authorization": f"Bearer {FOREIGN_KEY}"})
    run.ask(None, 403, headers={"x-selected-account-id": "elsewhere"})
    host, _, port = run.gateway.base_url.removeprefix("http://").removesuffix("/v5").partition(":")
    for broken in (
        f"POST /v5/completions HTTP/1.1\r\nx-api-key\x01: {FOREIGN_KEY}\r\n\r\n",
        f"POST /v5/completions HTTP/1.1\r\nhost: x\r\nx-api-key: {run.gateway.api_key}\r\n"
        f"transfer-encoding: chunked\r\n\r\n{PROMPT}\r\n\r\n",
    ):
        with socket.create_connection((host, int(port)), timeout=30) as connection:
            connection.sendall(broken.encode())
            connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(65536):
                run.said.append(piece)


def the_vendor_fails(run: Run) -> None:
    def error(message: str) -> Any:
        return {"error": {"message": message, "type": "x", "code": None, "param": None}}

    run.ask(json_reply(error(f"Incorrect API key provided: {VENDOR_KEY}"), 401), 502)
    run.ask(json_reply(error(f"The model for {VENDOR_KEY} does not exist"), 404), 404)
    run.ask(json_reply(error(f"Cannot read: {PROMPT}"), 400), 400)
    run.ask(json_reply(error(f"{VENDOR_KEY} {PROMPT}"), 500), 502)
    run.ask(Reply([f"<html>{VENDOR_KEY} {PROMPT}".encode()], 200, framing="close"), 502)
    run.ask(stream_reply(body_of(choice(ANSWER)), CUT), 200, stream=True)
    run.ask(stream_reply(body_of(choice(ANSWER)), error(VENDOR_KEY)), 200, stream=True)


def redis_goes_and_comes(run: Run, valkey: Valkey, spool: Path) -> list[bytes]:
    """Return what was in the spool meanwhile."""
    valkey.kill()
    all_goes_well(run)
    run.get("/readyz")
    spooled = [path.read_bytes() for path in spool.iterdir()]
    valkey.start()
    wait_until(lambda: not list(spool.glob("*.jsonl")))
    return spooled


def the_database_goes_and_comes(run: Run) -> None:
    url = run.gateway.engine.url
    allow = f'ALTER DATABASE "{url.database}" ALLOW_CONNECTIONS '
    disconnect = sa.text(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = :name"
    )
    admin = sa.create_engine(url.set(database="postgres"), isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.exec_driver_sql(allow + "false")
        connection.execute(disconnect, {"name": url.database})
        run.get("/readyz")
        run.get("/v5/organization/usage/completions?start_time=0")
        run.ask(None, 503, headers={"x-api-key": run.unused_key})
        connection.exec_driver_sql(allow + "true")
    admin.dispose()


def processes() -> bytes:
    """Return the command lines and titles of this test's servers."""
    listed = subprocess.run(
        ["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    ).stdout
    parents = {int(line.split()[0]): int(line.split()[1]) for line in listed.splitlines()}

    def is_ours(pid: int) -> bool:
        while pid in parents:
            pid = parents[pid]
            if pid == os.getpid():
                return True
        return False

    lines = [line for line in listed.splitlines() if is_ours(int(line.split()[0]))]
    assert any("gunicorn" in line for line in lines)
    assert any("celery" in line for line in lines)
    return "\n".join(lines).encode()


def commands(run: Run) -> list[bytes]:
    """Return what operators' commands print."""
    printed = []
    for words in (["usage"], ["keys", "list"], ["dead", "list"], ["reconcile"], ["vendors"]):
        ran = subprocess.run(
            [sys.executable, "-m", "app.cli", *words],
            cwd=ROOT,
            env={**os.environ, **run.env},
            capture_output=True,
            check=False,
        )
        printed.append(ran.stdout + ran.stderr)
    return printed


def ledger_rows(run: Run) -> list[bytes]:
    """Return every row of every table."""
    with run.gateway.engine.connect() as connection:
        tables = map(sa.table, sa.inspect(connection).get_table_names())
        rows = [connection.execute(sa.select(sa.text("*")).select_from(it)).all() for it in tables]
    return [repr(row).encode() for row in rows]


def test_no_secret_is_left_anywhere(run: Run, valkey: Valkey, tmp_path: Path) -> None:
    all_goes_well(run)
    callers_are_refused(run)
    the_vendor_fails(run)
    spooled = redis_goes_and_comes(run, valkey, tmp_path / "spool")
    the_database_goes_and_comes(run)
    all_goes_well(run)
    run.settle()
    for path in ("/readyz", "/metrics", "/v5/models", "/livez", "/nowhere"):
        run.get(path)

    kept = {
        "web log": [(tmp_path / "web.log").read_bytes()],
        "worker log": [(tmp_path / "worker.log").read_bytes()],
        "redis": [path.read_bytes() for path in (tmp_path / "valkey").rglob("*.aof")],
        "ledger": ledger_rows(run),
        "spool": spooled,
        "processes": [processes()],
        "commands": commands(run),
    }
    assert all(any(pieces) for pieces in kept.values()), kept.keys()
    assert any(ANSWER.encode() in piece for piece in run.said)
    assert any(b"somebody" in piece for piece in kept["ledger"])
    credentials = [
        REDIS_PASSWORD,
        DATABASE_PASSWORD,
        VENDOR_KEY,
        FOREIGN_KEY,
        run.gateway.api_key,
        run.unused_key,
    ]
    found = [
        (where, secret)
        for where, pieces in kept.items()
        for secret in [*credentials, PROMPT, ANSWER]
        for piece in pieces
        if secret.encode() in piece
    ]
    # Answers are their callers' own: they may hold the prompt, and never a credential.
    found += [
        ("an answer", piece.decode(errors="replace"))
        for piece in run.said
        for secret in credentials
        if secret.encode() in piece
    ]
    assert found == []
