"""Commands that wait until every web process has noticed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from app.accounts.accounts import Accounts
from app.storage.sql.engine import create_engine
from tests.cli.command import Tollgate
from tests.support.services.sqlite import new_ledger


def test_the_wait_is_as_long_as_web_processes_cache_keys(tollgate: Tollgate) -> None:
    Accounts(tollgate.engine).create("acme", "n")
    for cache_s, waited in (("0.01", "0.02 s"), ("0.002", "0.004 s")):
        again = Tollgate(tollgate.database_url, tollgate.engine, {"TOLLGATE_KEY_CACHE_S": cache_s})
        assert f"Waiting {waited}" in again.run("accounts", "disable", "acme").stderr


def test_a_cache_setting_of_no_use_is_named(tollgate: Tollgate) -> None:
    Accounts(tollgate.engine).create("acme", "n")
    wrong = Tollgate(tollgate.database_url, tollgate.engine, {"TOLLGATE_KEY_CACHE_S": "soon"})
    said = wrong.run("accounts", "disable", "acme", exit_code=1).stderr
    assert "TOLLGATE_KEY_CACHE_S" in said


def test_an_interrupt_ends_only_the_waiting(tmp_path: Path) -> None:
    url = new_ledger(tmp_path / "ledger.db")
    engine = create_engine(url)
    Accounts(engine).create("acme", "n")
    with subprocess.Popen(
        [sys.executable, "-m", "app.cli", "accounts", "disable", "acme"],
        env=os.environ | {"DATABASE_URL": url},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            assert "Waiting 10 s" in process.stderr.readline()
            process.send_signal(signal.SIGINT)
            _, rest = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, rest) == (0, "Not waiting any longer.\n")
    assert Accounts(engine).get("acme").disabled_at_ms is not None
    engine.dispose()
