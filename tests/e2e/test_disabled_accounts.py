"""An account that is disabled is refused by every web process when the command returns."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress

import pytest
import redis
import requests

from app.storage.sql.tables import api_keys
from tests.e2e.deployment import Candidate, deployed
from tests.ledger.ledgers import rows
from tests.support.services.polling import wait_until

#: Enough requests, each on its own connection, to reach both web processes.
REQUESTS = 40
CACHE = {"TOLLGATE_KEY_CACHE_S": "1"}


@pytest.fixture
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Candidate]:
    """A deployment with two web processes."""
    root = tmp_path_factory.mktemp("pair")
    with deployed(root, {"WEB_CONCURRENCY": "2"} | CACHE) as candidate:
        yield candidate


def tollgate(pair: Candidate, *arguments: str) -> str:
    """Run a command, and return what it prints on stderr."""
    url = pair.gateway.engine.url.render_as_string(hide_password=False)
    ran = subprocess.run(
        [sys.executable, "-m", "app.cli", *arguments],
        env=os.environ | CACHE | {"DATABASE_URL": url},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return ran.stderr


def ask(pair: Candidate) -> tuple[int, str]:
    """Return the status and the error's code of a completion."""
    body = {"model": "sim/m", "prompt": "one two", "max_tokens": 2}
    response = pair.gateway.post(body, headers={"connection": "close"})
    return response.status_code, response.json().get("error", {}).get("code", "")


def asked(pair: Candidate) -> Counter[tuple[int, str]]:
    return Counter(ask(pair) for _ in range(REQUESTS))


def test_every_web_process_refuses_it_also_without_redis(pair: Candidate) -> None:
    served, refused = {(200, ""): REQUESTS}, {(403, "account_disabled"): REQUESTS}
    assert asked(pair) == served
    assert "Waiting 2 s" in tollgate(pair, "accounts", "disable", "acme")
    assert asked(pair) == refused
    tollgate(pair, "accounts", "enable", "acme")
    wait_until(lambda: asked(pair) == served)
    with suppress(redis.ConnectionError):
        pair.gateway.redis.shutdown(nosave=True)
    wait_until(lambda: asked(pair) == served)  # to the spool
    tollgate(pair, "accounts", "disable", "acme")
    assert asked(pair) == refused


def test_web_processes_store_when_a_key_was_last_used_before_they_end(pair: Candidate) -> None:
    assert ask(pair) == (200, "")
    assert [row["last_used_at_ms"] for row in rows(pair.gateway.engine, api_keys)] == [None]
    os.kill(pair.web_pid, 15)
    wait_until(lambda: rows(pair.gateway.engine, api_keys)[0]["last_used_at_ms"] is not None)
    wait_until(lambda: _is_gone(pair))  # the other web process may end a moment later


def _is_gone(pair: Candidate) -> bool:
    try:
        ask(pair)
    except requests.ConnectionError:
        return True
    return False
