"""Requests that wait for another one with their idempotency key, in real web processes."""

import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import requests

from app.settings import Settings
from app.storage.redis.keys import OPEN, OWNER
from tests.support.gateway import Gateway, gunicorn, with_account
from tests.support.services.polling import wait_until
from tests.support.vendor import Reply, SimulatedVendor, completed

RAW = b'{"model": "sim/m", "prompt": "one two"}'
KEY = {"idempotency-key": "k1"}


class Web:
    """Two web processes, each with its master, that share Redis and the ledger."""

    def __init__(self, first: Gateway, second: Gateway, pids: list[int], logs: list[Path]) -> None:
        self.first, self.second = first, second
        self.pids, self.logs = pids, logs


@pytest.fixture
def web(settings: Settings, tmp_path: Path) -> Iterator[Web]:
    """Two masters with one process each."""
    env = {
        "REDIS_URL": settings.redis_url,
        "DATABASE_URL": settings.database_url,
        "TOLLGATE_VENDORS": str(settings.vendors_file),
        "TOLLGATE_SPOOL_DIR": str(settings.spool_dir),
        "TOLLGATE_GRACE_S": "1",
        "WEB_CONCURRENCY": "1",
        **settings.env,
    }
    logs = [tmp_path / "first.log", tmp_path / "second.log"]
    with ExitStack() as stack:
        started = [stack.enter_context(gunicorn(env, log)) for log in logs]
        first = stack.enter_context(with_account(started[0][0], settings))
        second = replace(first, base_url=started[1][0])
        yield Web(first, second, [pid for _, pid in started], logs)


def asked_twice(
    web: Web, vendor: SimulatedVendor, pool: ThreadPoolExecutor, go_on: threading.Event
) -> list["Future[requests.Response]"]:
    """Send a request to the first process, and again to the second, which then waits."""
    whole = completed({"model": "m", "prompt": "one two"}).body
    vendor.reply(Reply([go_on, *whole]))
    asked = [pool.submit(web.first.post, RAW, headers=KEY)]
    wait_until(lambda: vendor.asked)
    asked.append(pool.submit(web.second.post, RAW, headers=KEY))
    redis: Any = web.first.redis
    with redis.monitor() as monitor:  # the first one's claim was before
        assert any("idempotency:" in command["command"] for command in monitor.listen())
    return asked


def test_a_request_waits_for_one_of_another_process(web: Web, vendor: SimulatedVendor) -> None:
    go_on = threading.Event()
    with ThreadPoolExecutor(2) as pool:
        first, second = asked_twice(web, vendor, pool, go_on)
        go_on.set()
        assert second.result().content == first.result().content
    assert second.result().headers["x-tollgate-replay-of"] == first.result().headers["x-request-id"]
    assert len(vendor.asked) == len(web.first.events()) == 1


def test_a_request_runs_when_the_process_of_the_first_was_killed(
    web: Web, vendor: SimulatedVendor
) -> None:
    """The second call begins when the first is over; each is one row, the first's an estimate."""
    go_on = threading.Event()
    redis: Any = web.first.redis
    with ThreadPoolExecutor(2) as pool:
        first, second = asked_twice(web, vendor, pool, go_on)
        owners = redis.hgetall(OPEN)
        children = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(web.pids[0])], capture_output=True, check=True
        )
        for pid in (web.pids[0], *map(int, children.stdout.split())):
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: vendor.hang_ups)
        with pytest.raises(requests.exceptions.ConnectionError):
            first.result()
        assert (len(vendor.asked), second.done()) == (1, False)
        (record,) = owners.values()
        for name in redis.keys(f"{OWNER}*"):
            if name.decode().removeprefix(OWNER) in record.decode():
                redis.delete(name)  # as if its 30 s were over
        assert second.result().status_code == 200
    assert "x-tollgate-replay-of" not in second.result().headers
    assert len(vendor.asked) == 2
    assert list(redis.hgetall(OPEN)) == list(owners)  # for the reaper
    assert web.first.redis.xlen("usage:events") == 1


def test_a_client_that_hangs_up_waits_no_longer(web: Web, vendor: SimulatedVendor) -> None:
    go_on = threading.Event()
    with ThreadPoolExecutor(2) as pool:
        first, second = asked_twice(web, vendor, pool, go_on)
        host, _, port = web.second.base_url[7:-3].partition(":")
        head = f"POST /v5/completions HTTP/1.1\r\nhost: x\r\nx-api-key: {web.first.api_key}\r\n"
        head += f"idempotency-key: k1\r\ncontent-length: {len(RAW)}\r\n\r\n"
        with socket.create_connection((host, int(port)), 10) as client:
            client.sendall(head.encode() + RAW)
        wait_until(lambda: "idempotency_in_progress" in web.logs[1].read_text())
        assert not second.done()
        go_on.set()
        assert {first.result().status_code, second.result().status_code} == {200}
    assert len(vendor.asked) == 1


def test_a_process_that_shuts_down_lets_nobody_wait(web: Web, vendor: SimulatedVendor) -> None:
    go_on = threading.Event()
    with ThreadPoolExecutor(2) as pool:
        first, second = asked_twice(web, vendor, pool, go_on)
        os.kill(web.pids[1], signal.SIGTERM)
        assert second.result().status_code == 503
        assert second.result().json()["error"]["code"] == "shutting_down"
        go_on.set()
        assert first.result().status_code == 200
    assert len(vendor.asked) == 1
