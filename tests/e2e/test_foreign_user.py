"""The Procfile's four processes, as a user who owns nothing, from a checkout that is read-only."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
import requests

from app.settings import Settings
from tests.support.gateway import vendor_table, with_account
from tests.support.ports import free_port
from tests.support.processes import end
from tests.support.services.foreigner import Checkout, as_foreigner
from tests.support.services.polling import wait_until
from tests.support.services.valkey import Valkey
from tests.support.vendor import SimulatedVendor

ASK = {"model": "sim/m", "prompt": "one two", "max_tokens": 5}

GUNICORN = ["gunicorn", "--config", "config/gunicorn.conf.py", "app.wsgi:app"]
CELERY = ["celery", "--app", "workers.celery_app"]


@pytest.fixture
def checkout() -> Iterator[Checkout]:
    checkout = Checkout()
    yield checkout
    checkout.remove()


@pytest.fixture
def env(checkout: Checkout, own_valkey: Valkey, vendor: SimulatedVendor) -> dict[str, str]:
    """Every place that is written to, named."""
    table = checkout.data / "vendors.toml"
    table.write_text(vendor_table(vendor.url))
    return {
        "REDIS_URL": own_valkey.url,
        "DATABASE_URL": f"sqlite:///{checkout.data / 'ledger.db'}",
        "TOLLGATE_VENDORS": str(table),
        "TOLLGATE_SPOOL_DIR": str(checkout.data / "spool"),
        "SIM_API_KEY": "sk-simulated-secret",
        "TMPDIR": str(checkout.data / "tmp"),
        "GUNICORN_CMD_ARGS": f"--worker-tmp-dir {checkout.data / 'tmp'}",
        "HOME": "/nonexistent",
        "PYTHONPATH": str(checkout.root),
        "PORT": str(free_port()),
    }


def command(words: list[str]) -> list[str]:
    return [*as_foreigner(), sys.executable, "-m", *words]


@contextmanager
def process(
    checkout: Checkout, env: Mapping[str, str], words: list[str], log: Path
) -> Iterator["subprocess.Popen[bytes]"]:
    """Run one of the Procfile's processes."""
    with log.open("wb") as output:
        running = subprocess.Popen(
            command(words),
            cwd=checkout.root,
            env={**os.environ, **env},
            stdout=output,
            stderr=output,
        )
    try:
        yield running
    finally:
        end(running)


def release(checkout: Checkout, env: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
    return tollgate(checkout, env, "db", "upgrade")


def tollgate(
    checkout: Checkout, env: Mapping[str, str], *words: str
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command(["app.cli", *words]),
        cwd=checkout.root,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )


def ready(env: Mapping[str, str]) -> requests.Response | None:
    try:
        return requests.get(f"http://127.0.0.1:{env['PORT']}/readyz", timeout=60)
    except requests.ConnectionError:
        return None


def test_release_web_worker_and_beat_run(
    checkout: Checkout, env: dict[str, str], tmp_path: Path, own_valkey: Valkey
) -> None:
    done = release(checkout, env)
    assert (done.returncode, done.stderr) == (0, "The ledger's schema is up to date.\n")
    logs = [tmp_path / f"{name}.log" for name in ("web", "worker", "beat")]
    with ExitStack() as stack:
        for log, words in zip(
            logs, (GUNICORN, [*CELERY, "worker"], [*CELERY, "beat"]), strict=True
        ):
            stack.enter_context(process(checkout, env, words, log))
        wait_until(lambda: (answer := ready(env)) and answer.status_code == 200)
        base_url = f"http://127.0.0.1:{env['PORT']}/v5"
        with with_account(base_url, Settings.from_env(env)) as gateway:
            assert gateway.post(ASK).status_code == 200
            assert ready(env).json()["alarms"] == {}  # type: ignore[union-attr]
            assert list((checkout.data / "tmp").glob("tollgate-metrics-*"))
            own_valkey.kill()
            assert gateway.post(ASK).status_code == 200
            own_valkey.start()
            wait_until(lambda: int(gateway.redis.get("usage:posted") or 0) == 2)
    for log in logs:
        assert "ermission" not in log.read_text()
    assert "Traceback" not in logs[0].read_text()


def test_places_that_cannot_be_written_are_named_in_a_line(
    checkout: Checkout, env: dict[str, str]
) -> None:
    """Those of the settings' defaults, which are in the checkout; and a file of somebody else's."""
    done = release(checkout, {**env, "DATABASE_URL": ""})
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert f"{checkout.root}/var" in done.stderr
    assert release(checkout, env).returncode == 0
    (checkout.data / "ledger.db").chmod(0o444)
    if os.geteuid() == 0:
        os.chown(checkout.data / "ledger.db", 0, 0)
    done = tollgate(checkout, env, "accounts", "create", "acme")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "read-only" in done.stderr
    (checkout.data / "ledger.db").unlink()
    checkout.data.chmod(0o555)
    if os.geteuid() == 0:
        os.chown(checkout.data, 0, 0)
    done = release(checkout, env)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "cannot be opened" in done.stderr
    checkout.data.chmod(0o755)


def test_a_spool_that_cannot_be_written_is_told_at_the_start_and_refuses_without_redis(
    checkout: Checkout, env: dict[str, str], tmp_path: Path, own_valkey: Valkey
) -> None:
    assert release(checkout, env).returncode == 0
    env["TOLLGATE_SPOOL_DIR"] = str(checkout.root / "spool")
    log = tmp_path / "web.log"
    with process(checkout, env, GUNICORN, log):
        wait_until(lambda: (answer := ready(env)) and answer.status_code == 200)
        wait_until(lambda: "alarm spool_unusable" in log.read_text())
        base_url = f"http://127.0.0.1:{env['PORT']}/v5"
        with with_account(base_url, Settings.from_env(env)) as gateway:
            assert gateway.post(ASK).status_code == 200
            alarm = ready(env).json()["alarms"]["spool_unusable"]  # type: ignore[union-attr]
            assert f"{checkout.root}/spool is not writable (Permission denied)" in alarm
            own_valkey.kill()
            refused = gateway.post(ASK)
            assert refused.status_code == 503
            assert refused.json()["error"]["code"] == "accounting_unavailable"
            assert ready(env).status_code == 503  # type: ignore[union-attr]
            own_valkey.start()
            wait_until(lambda: gateway.post(ASK).status_code == 200)
            assert ready(env).status_code == 200  # type: ignore[union-attr]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a small disk, and has files")
def test_a_full_disk_and_somebody_elses_files_are_told(
    checkout: Checkout, env: dict[str, str], tmp_path: Path
) -> None:
    assert release(checkout, env).returncode == 0
    disk = tmp_path / "disk"
    disk.mkdir()
    options = "size=64k,mode=777"
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(disk)]
    if subprocess.run(mount, check=False).returncode:
        pytest.skip("nothing may be mounted here")
    try:
        fill(disk / "filling")
        (disk / "root.1.jsonl").touch(0o600)
        env["TOLLGATE_SPOOL_DIR"] = str(disk)
        with process(checkout, env, GUNICORN, tmp_path / "web.log"):
            wait_until(lambda: (answer := ready(env)) and answer.status_code == 200)
            alarms = ready(env).json()["alarms"]  # type: ignore[union-attr]
            assert set(alarms) == {"spool_unusable", "spool_foreign"}
            assert "No space left on device" in alarms["spool_unusable"]
            (disk / "filling").unlink()
            (disk / "root.1.jsonl").unlink()
            assert set(ready(env).json()["alarms"]) == {"spool_disk"}  # type: ignore[union-attr]
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)


def fill(path: Path) -> None:
    """Take all the room that a disk has."""
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(4096)):
            pass
