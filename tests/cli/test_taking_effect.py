"""Commands that wait until every web process has noticed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from app.accounts.accounts import Accounts
from app.accounts.keyring import REVOCATION_BOUND_S
from app.cli.taking_effect import _bound_s
from app.storage.sql.engine import create_engine
from tests.cli.command import Tollgate
from tests.support.processes import ended, started
from tests.support.services.sqlite import new_ledger


def test_the_wait_is_as_long_as_web_processes_cache_keys(tollgate: Tollgate) -> None:
    Accounts(tollgate.engine).create("acme", "n")
    for cache_s, waited in (("0.01", "0.02 s"), ("0.002", "0.004 s")):
        again = Tollgate(tollgate.database_url, tollgate.engine, {"TOLLGATE_KEY_CACHE_S": cache_s})
        assert f"Waiting {waited}" in again.run("accounts", "disable", "acme").stderr


@pytest.mark.parametrize("setting", ["", "soon", "-1", "nan", "60"])
def test_no_setting_shortens_the_wait_wrongly(setting: str) -> None:
    assert _bound_s({"TOLLGATE_KEY_CACHE_S": setting}) == REVOCATION_BOUND_S


def test_an_interrupt_ends_only_the_waiting(tmp_path: Path) -> None:
    url = new_ledger(tmp_path / "ledger.db")
    engine = create_engine(url)
    Accounts(engine).create("acme", "n")
    command = [sys.executable, "-m", "app.cli", "accounts", "disable", "acme"]
    env = os.environ | {"DATABASE_URL": url}
    with started(command, env=env, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "Waiting 10 s" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        assert ended(process) == 0
        assert process.stderr.read() == "Not waiting any longer.\n"
    assert Accounts(engine).get("acme").disabled_at_ms is not None
    engine.dispose()
