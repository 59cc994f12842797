"""`tollgate config check`: everything that a process would refuse, in one list."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner, Result

from app.cli import main
from app.devstack.running import left
from tests.support.gateway import Gateway
from tests.support.names import need_name_server
from tests.support.ports import free_port

#: What this process may have from its own environment.
NONE = dict.fromkeys(("REDIS_URL", "DATABASE_URL", "PORT", "TOLLGATE_VENDORS", "TOLLGATE_PRICES"))


def check(**env: str) -> Result:
    """Run the command in an environment."""
    return CliRunner().invoke(main, ["config", "check"], env={**NONE, **env})


def test_what_is_well_is_listed(redis_url: str, database_url: str, tmp_path: Path) -> None:
    result = check(
        REDIS_URL=redis_url,
        DATABASE_URL=database_url,
        PORT=str(free_port()),
        TOLLGATE_SPOOL_DIR=str(tmp_path / "spool"),
        OPENAI_API_KEY="sk-hunter2",
    )
    assert (result.exit_code, result.stderr) == (0, "")
    heading, *lines = result.stdout.splitlines()
    assert heading.split() == ["state", "checked", "for", "result"]
    assert {line.split()[0] for line in lines} <= {"ok", "warning"}
    subjects = {line.split()[1] for line in lines}
    assert {"settings", "REDIS_URL", "DATABASE_URL", "TOLLGATE_VENDORS", "PORT"} <= subjects
    assert "hunter2" not in result.output


def test_all_faults_are_listed_at_once_without_a_secret(tmp_path: Path) -> None:
    need_name_server()
    vendors, prices = tmp_path / "vendors.toml", tmp_path / "prices.toml"
    vendors.write_text("[vendors.x]\nnative = 3\n")
    prices.write_text("[[prices]]\nmodel = 1\n")
    result = check(
        REDIS_URL="redis://:hunter2@redis.invalid/0",
        DATABASE_URL="postgres://u:hunter2@postgres.invalid/d",
        TOLLGATE_CELL="a b",
        TOLLGATE_PROXIES="x",
        TOLLGATE_VENDORS=str(vendors),
        TOLLGATE_PRICES=str(prices),
        WEB_CONCURRENCY="0",
    )
    assert result.exit_code == 1
    faults = {line.split()[1] for line in result.stdout.splitlines() if line.startswith("FAULT")}
    assert faults == {
        "REDIS_URL",
        "DATABASE_URL",
        "TOLLGATE_CELL",
        "TOLLGATE_PROXIES",
        "TOLLGATE_VENDORS",
        "TOLLGATE_PRICES",
        "WEB_CONCURRENCY",
    }
    assert "Services that are down: 0." in result.stderr
    assert "hunter2" not in result.output


def test_beside_a_dev_it_is_named_and_its_key_is_not_openais(
    tmp_path: Path, redis_url: str, gateway: Gateway
) -> None:
    """As `tollgate vendors` says, in a terminal that has read `dev-env`."""
    left_by_dev = {"OPENAI_BASE_URL": gateway.base_url, "OPENAI_API_KEY": gateway.api_key}
    port = urlsplit(gateway.base_url).port
    env = {"REDIS_URL": redis_url, "PORT": str(port), "TOLLGATE_VAR": str(tmp_path)}
    with left(tmp_path / "dev-env", left_by_dev):
        result = check(**env, **left_by_dev)
    lines = {line.split()[1]: line for line in result.stdout.splitlines()}
    assert "openai" not in lines["TOLLGATE_VENDORS"]
    assert "a key of Tollgate, so openai is not configured" in lines["OPENAI_API_KEY"]
    assert f"port {port} cannot be used now" in lines["PORT"]
    assert "`tollgate dev` has it. Stop that, or set PORT" in lines["PORT"]
    assert f"`tollgate dev` is running at {gateway.base_url}" in result.stderr
    assert gateway.api_key not in result.output


@pytest.mark.parametrize("service", ["REDIS_URL", "DATABASE_URL"])
def test_a_service_that_is_down_is_no_fault_and_is_reported(
    redis_url: str, sqlite_url: str, service: str
) -> None:
    nowhere = f"127.0.0.1:{free_port()}"
    down = {"REDIS_URL": f"redis://{nowhere}/0", "DATABASE_URL": f"postgres://u:p@{nowhere}/d"}
    result = check(
        **{"REDIS_URL": redis_url, "DATABASE_URL": sqlite_url, service: down[service]},
        PORT=str(free_port()),
    )
    assert result.exit_code == 1
    (line,) = (line for line in result.stdout.splitlines() if line.startswith("down"))
    assert line.split()[1] == service
    assert result.stderr == "Faults: 0. Services that are down: 1.\n"
