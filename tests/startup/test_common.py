"""What every process checks: each invalid variable is named, and the others are still checked."""

import socket
from pathlib import Path

import pytest

from app.startup.common import (
    check_common,
    check_release,
    check_worker_start,
    findings_of,
    read_settings,
)
from app.startup.finding import Finding

#: Longer than a service takes on a machine that is shared.
LONG_S = 60.0


def by_subject(found: list[Finding]) -> dict[str, str]:
    """Return the state of each subject."""
    return {it.subject: it.state for it in found}


def test_all_is_well(redis_url: str, database_url: str) -> None:
    read = read_settings({"REDIS_URL": redis_url, "DATABASE_URL": database_url})
    found = list(check_common(read, LONG_S))
    ours = [it for it in found if it.state != "warning"]  # the Redis of tests keeps nothing
    assert by_subject(ours) == {
        "settings": "ok",
        "TOLLGATE_PRICES": "ok",
        "REDIS_URL": "ok",
        "DATABASE_URL": "ok",
    }
    messages = {it.subject: it.message for it in ours}
    assert messages["REDIS_URL"].startswith("Valkey ")
    assert messages["REDIS_URL"].endswith(" accepts the login")
    assert "append-only file" in " ".join(it.message for it in found if it.state == "warning")


def test_each_invalid_variable_is_named_and_the_services_are_checked_all_the_same(
    sqlite_url: str, tmp_path: Path
) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text("[[prices]]\nmodel = 1\n[[prices]]\n")
    read = read_settings(
        {
            "TOLLGATE_CELL": "a b",
            "TOLLGATE_PROXIES": "some",
            "DATABASE_URL": sqlite_url,
            "TOLLGATE_PRICES": str(prices),
        }
    )
    found = list(check_common(read, LONG_S))
    assert by_subject(found) == {
        "TOLLGATE_CELL": "refused",
        "TOLLGATE_PROXIES": "refused",
        "REDIS_URL": "refused",
        "TOLLGATE_PRICES": "refused",
        "DATABASE_URL": "ok",
    }
    assert len([it for it in found if it.subject == "TOLLGATE_PRICES"]) > 1
    assert next(it.line for it in found if it.subject == "REDIS_URL").startswith("REDIS_URL is not")


def test_a_misspelt_name_is_named_beside_the_setting_that_is_missing(sqlite_url: str) -> None:
    read = read_settings({"REDIS_ULR": "redis://h", "DATABASE_URL": sqlite_url})
    found = by_subject(list(check_common(read, LONG_S)))
    assert (found["REDIS_ULR"], found["REDIS_URL"]) == ("warning", "refused")


def test_a_service_that_hangs_is_down() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        url = f"postgresql://u:hunter2@127.0.0.1:{port}/d?connect_timeout=2&sslmode=disable"
        (found,) = check_release({"DATABASE_URL": url})
    assert (found.state, found.message) == (
        "down",
        "no response in time: check host and port",
    )
    assert found.processes == ("release",)


def test_a_worker_that_cannot_start_exits(
    monkeypatch: pytest.MonkeyPatch, redis_url: str, sqlite_url: str
) -> None:
    monkeypatch.setenv("REDIS_URL", redis_url)
    monkeypatch.setenv("DATABASE_URL", sqlite_url)
    monkeypatch.setattr("app.startup.common.configure", lambda _: None)
    assert check_worker_start().redis_url == redis_url
    monkeypatch.setenv("TOLLGATE_JOURNAL", "perhaps")
    with pytest.raises(SystemExit):
        check_worker_start()


def test_a_subject_is_not_named_twice() -> None:
    def check() -> str:
        from app.settings import ConfigError

        raise ConfigError("PORT is taken\nof two")

    assert [it.message for it in findings_of("PORT", check)] == ["is taken", "of two"]
