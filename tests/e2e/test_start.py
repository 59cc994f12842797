"""`tollgate start` as docs/deploying.md has it: what a stop, and a second one, do to a stream.

PostgreSQL and Redis ask for passwords; the database is new.
"""

import contextlib
import http.client
import json
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests

from app.settings import ROOT, Settings
from tests.support.gateway import Gateway, sse_events, text_of, vendor_table, with_account
from tests.support.operator import start_commands
from tests.support.ports import free_port
from tests.support.processes import ended, started
from tests.support.services.polling import wait_until
from tests.support.services.postgres import Postgres
from tests.support.services.valkey import Valkey
from tests.support.tools import tool_env
from tests.support.vendor import DONE, SimulatedVendor, body_of, choice, stream_reply, usage_of

USER = "tollgate_start"
SECRET = "hunter2"

#: How long a stream goes on after SIGTERM, in seconds: more than the five that others give.
HELD_S = 7.0

ASK = {"model": "sim/m", "prompt": "one two", "stream": True}


@dataclass
class Running:
    """Everything, started by the documented command."""

    process: "subprocess.Popen[str]"
    gateway: Gateway
    log: Path

    @contextlib.contextmanager
    def stream(self) -> Iterator[http.client.HTTPResponse]:
        """Ask for a stream; yield the response, of which only the head is read."""
        address = self.gateway.base_url.removeprefix("http://").removesuffix("/v5")
        connection = http.client.HTTPConnection(address, timeout=60)
        headers = {"x-api-key": self.gateway.api_key}
        connection.request("POST", "/v5/completions", json.dumps(ASK), headers)
        with contextlib.closing(connection), connection.getresponse() as response:
            yield response

    def takes_connections(self) -> bool:
        address = self.gateway.base_url.removeprefix("http://").removesuffix("/v5")
        host, _, port = address.partition(":")
        try:
            socket.create_connection((host, int(port)), timeout=5).close()
        except OSError:
            return False
        return True


@pytest.fixture
def valkey(tmp_path: Path) -> Iterator[Valkey]:
    """A Valkey with a password."""
    directory = tmp_path / "valkey"
    directory.mkdir()
    server = Valkey(directory, password=SECRET).start()
    yield server
    server.stop()


@contextlib.contextmanager
def running(
    tmp_path: Path, valkey: Valkey, postgres: Postgres, vendor: SimulatedVendor, grace_s: int
) -> Iterator[Running]:
    """Run the documented command until requests are served."""
    port, log, table = free_port(), tmp_path / "log", tmp_path / "vendors.toml"
    table.write_text(vendor_table(vendor.url))
    postgres.add_user(USER, SECRET)
    url = postgres.create("template0").replace("postgres@", f"{USER}:{SECRET}@")
    env = {
        **tool_env(tmp_path),
        "REDIS_URL": valkey.url,
        "DATABASE_URL": url,
        "PORT": str(port),
        "TOLLGATE_GRACE_S": str(grace_s),
        "TOLLGATE_VENDORS": str(table),
        "TOLLGATE_SPOOL_DIR": str(tmp_path / "spool"),
        "SIM_API_KEY": "sk-simulated-secret",
    }
    ready = f"http://127.0.0.1:{port}/readyz"
    with log.open("w") as output:
        options = {"cwd": ROOT, "env": env, "stdout": output, "stderr": subprocess.STDOUT}
        with started(["sh", "-c", f"exec {start_commands()[-1]}"], text=True, **options) as process:
            wait_until(lambda: process.poll() is not None or answers(ready))
            wait_until(lambda: process.poll() is not None or " ready." in log.read_text())
            assert process.poll() is None, log.read_text()
            base = f"http://127.0.0.1:{port}/v5"
            with with_account(base, Settings.from_env(env)) as gateway:
                yield Running(process, gateway, log)


def answers(url: str) -> bool:
    try:
        return requests.get(url, timeout=60).ok
    except requests.ConnectionError:
        return False


def test_a_stream_finishes_long_after_sigterm_and_is_recorded(
    tmp_path: Path, valkey: Valkey, postgres: Postgres, vendor: SimulatedVendor
) -> None:
    gate, usage = threading.Event(), body_of(usage=usage_of(2, 2))
    vendor.reply(
        stream_reply(body_of(choice("first ")), gate, body_of(choice("last", "stop")), usage, DONE)
    )
    with (
        running(tmp_path, valkey, postgres, vendor, grace_s=20) as everything,
        everything.stream() as response,
    ):
        everything.process.send_signal(signal.SIGTERM)
        until_s = time.monotonic() + HELD_S
        wait_until(lambda: not everything.takes_connections())
        wait_until(lambda: time.monotonic() > until_s)
        gate.set()
        whole: Any = type("Content", (), {"content": response.read()})
        events = sse_events(whole)
        assert text_of(events) == "first last"
        assert events[-1] == ("done", "[DONE]")
        assert ended(everything.process) == 0
        recorded = everything.gateway.event()
        assert (recorded.status, recorded.source, recorded.total_tokens) == (
            "completed",
            "vendor",
            4,
        )
        log = everything.log.read_text()
        assert "killed" not in log
        assert "Traceback" not in log
        assert SECRET not in log
    assert set(re.findall(r"started (\w+) ", log)) == {"release", "web", "worker", "beat"}


def test_a_second_interrupt_aborts_and_records(
    tmp_path: Path, valkey: Valkey, postgres: Postgres, vendor: SimulatedVendor
) -> None:
    vendor.reply(stream_reply(body_of(choice("three little words")), threading.Event()))
    with (
        running(tmp_path, valkey, postgres, vendor, grace_s=3600) as everything,
        everything.stream() as response,
    ):
        everything.process.send_signal(signal.SIGINT)
        wait_until(lambda: not everything.takes_connections())
        assert everything.process.poll() is None
        everything.process.send_signal(signal.SIGINT)
        with pytest.raises(http.client.IncompleteRead) as caught:
            response.read()
        assert b"shutting_down" in caught.value.partial
        assert ended(everything.process) == 0
        recorded = everything.gateway.event()
        assert (recorded.status, recorded.source) == ("truncated", "estimated")
        assert "killed" not in everything.log.read_text()


def test_a_release_that_fails_starts_nothing(tmp_path: Path, valkey: Valkey) -> None:
    env = {**tool_env(tmp_path), "REDIS_URL": valkey.url}
    env |= {"DATABASE_URL": "mysql://user:hunter2@localhost/x"}
    run = subprocess.run(
        ["sh", "-c", start_commands()[-1]],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1
    assert "DATABASE_URL must begin with sqlite:///" in run.stderr
    assert re.findall(r"started (\w+) ", run.stderr) == ["release"]
    assert SECRET not in run.stderr
