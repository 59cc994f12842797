"""`tollgate config check`: everything that a process would refuse, in one list."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from app.cli import main
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
