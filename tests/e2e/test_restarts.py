"""Web workers that are replaced while official clients ask: nothing lost, nothing twice."""

import os
import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest
import sqlalchemy as sa
from openai import APIError, OpenAI

from app.storage.sql.tables import entries
from tests.e2e.deployment import Candidate, deployed
from tests.support.services.polling import wait_until
from tests.support.vendor import Asked, Reply, completed

CALLERS = 12


@dataclass
class Load:
    """Callers that ask again and again, each until it is told to stop or its client raises."""

    deployment: Candidate
    stopped: threading.Event = field(default_factory=threading.Event)
    #: `user` of a request -> tokens that its caller was told of.
    answered: dict[str, int] = field(default_factory=dict)
    raised: list[str] = field(default_factory=list)

    def go_on(self) -> None:
        """Wait until some more requests have been answered."""
        enough = len(self.answered) + 5 * CALLERS
        wait_until(lambda: len(self.answered) >= enough or self.raised)

    def ask(self, caller: int) -> None:
        """Ask, whole and streamed by turns."""
        gateway = self.deployment.gateway
        with OpenAI(base_url=gateway.base_url, api_key=gateway.api_key, timeout=60) as client:
            for number in count():
                if self.stopped.is_set():
                    return
                user = f"{caller}-{number}"
                try:
                    self.answered[user] = _ask(client, user, stream=number % 2 == 0)
                except APIError as exc:
                    self.raised.append(f"{type(exc).__name__}: {exc}")
                    return


def _ask(client: Any, user: str, *, stream: bool) -> int:
    ask: dict[str, Any] = {"model": "sim/m", "prompt": "one two", "max_tokens": 6, "user": user}
    if not stream:
        answer = client.completions.create(**ask)
        return int(answer.usage.total_tokens)
    options = {"include_usage": True}
    chunks = list(client.completions.create(**ask, stream=True, stream_options=options))
    return sum(chunk.usage.total_tokens for chunk in chunks if chunk.usage)


def unhurried(asked: Asked) -> Reply:
    """Answer as the simulated vendor does, with a little time between pieces."""
    reply = completed(asked.body)
    reply.body = [part for piece in reply.body for part in (0.02, piece)]
    return reply


@pytest.fixture(scope="module")
def restarted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Candidate]:
    """A deployment of two web workers, which are also replaced after some requests."""
    env = {
        "WEB_CONCURRENCY": "2",
        "GUNICORN_CMD_ARGS": "--max-requests 25 --max-requests-jitter 25",
    }
    with deployed(tmp_path_factory.mktemp("restarted"), env) as deployment:
        deployment.vendor.default = unhurried
        yield deployment


def workers(deployment: Candidate) -> set[int]:
    """The web workers there are."""
    found = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(deployment.web_pid)],
        capture_output=True,
        text=True,
        check=False,
    )
    return {int(pid) for pid in found.stdout.split()}


def replace_all(deployment: Candidate) -> None:
    """Have every worker replaced, as a deployment of new settings does."""
    before = workers(deployment)
    os.kill(deployment.web_pid, signal.SIGHUP)
    wait_until(lambda: not before & workers(deployment))


def test_a_rolling_restart_under_load_loses_and_doubles_nothing(restarted: Candidate) -> None:
    load = Load(restarted)
    with ThreadPoolExecutor(CALLERS) as pool:
        callers: list[Future[None]] = [pool.submit(load.ask, at) for at in range(CALLERS)]
        try:
            for _ in range(2):
                load.go_on()
                replace_all(restarted)
            for pid in workers(restarted):
                os.kill(pid, signal.SIGTERM)
            wait_until(lambda: len(workers(restarted)) == 2)
            load.go_on()
            assert load.raised == []
            os.kill(restarted.web_pid, signal.SIGTERM)  # and no one comes after
            wait_until(lambda: len(load.raised) == CALLERS)
        finally:
            load.stopped.set()
        for caller in callers:
            caller.result()
    restarted.usage("acme")  # once the ledger has everything
    calls = Counter(asked.body["user"] for asked in restarted.vendor.asked)
    with restarted.gateway.engine.connect() as connection:
        rows = connection.execute(sa.select(entries)).mappings().all()
    recorded = Counter[str]()
    for row in rows:
        recorded[row["user"]] += row["attempts"]
    assert +recorded == calls
    assert {row["status"] for row in rows} == {"completed"}
    tokens = {row["user"]: row["total_tokens"] for row in rows}
    assert {user: tokens[user] for user in load.answered} == load.answered
    assert set(load.answered.values()) == {8}
    log = (restarted.root / "web.log").read_text()
    assert "Autorestarting" in log
    assert "Traceback" not in log
