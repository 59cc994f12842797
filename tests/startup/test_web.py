"""What web processes check beyond the others."""

import socket
from pathlib import Path

import pytest
from certifi import where

from app.accounts.apikey import new_secret
from app.settings import Settings
from app.startup.common import check_common, read_settings
from app.startup.finding import Finding
from app.startup.web import check_host, check_web, check_web_start, spool_findings
from tests.support.ports import free_port


def found_for(**env: str) -> dict[str, Finding]:
    """Return the findings of an environment by their subject."""
    read = read_settings({"REDIS_URL": "redis://127.0.0.1:1/0", **env})
    return {it.subject: it for it in [*check_web(read), *check_host(read.settings)]}


def test_vendors_are_counted_and_none_is_a_warning(tmp_path: Path) -> None:
    spool = str(tmp_path / "spool")
    without = found_for(TOLLGATE_SPOOL_DIR=spool)
    assert without["TOLLGATE_VENDORS"].state == "warning"
    found = found_for(TOLLGATE_SPOOL_DIR=spool, OPENAI_API_KEY="sk-hunter2")
    assert found["TOLLGATE_VENDORS"].message == "configured: openai"
    assert {it.state for it in found.values()} <= {"ok", "warning"}
    assert not Path(spool).exists()  # the user who checks may not be that of the web processes


def test_a_key_of_tollgate_is_not_taken_for_openais(tmp_path: Path) -> None:
    found = found_for(TOLLGATE_SPOOL_DIR=str(tmp_path), OPENAI_API_KEY=new_secret())
    assert found["OPENAI_API_KEY"].state == "warning"
    assert "a key of Tollgate, so openai is not configured" in found["OPENAI_API_KEY"].message
    assert "openai" not in found["TOLLGATE_VENDORS"].message


def test_a_cache_of_keys_that_is_too_long_is_a_warning(tmp_path: Path) -> None:
    for seconds, is_named in (("5", False), ("60", True)):
        found = found_for(TOLLGATE_SPOOL_DIR=str(tmp_path), TOLLGATE_KEY_CACHE_S=seconds)
        assert ("TOLLGATE_KEY_CACHE_S" in found) is is_named
    assert "cached for 5 s" in found["TOLLGATE_KEY_CACHE_S"].message


def test_what_has_the_port_is_named_if_it_is_known(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        env = {"REDIS_URL": "redis://", "PORT": str(port), "TOLLGATE_SPOOL_DIR": str(tmp_path)}
        for users, words in (
            ({}, "by a web process that runs?"),
            ({port: "`x` has it"}, "`x` has"),
        ):
            found = {it.subject: it for it in check_host(read_settings(env).settings, users)}
            assert found["PORT"].state == "warning"
            assert words in found["PORT"].message


def test_each_fault_is_named(tmp_path: Path) -> None:
    vendors = tmp_path / "vendors.toml"
    vendors.write_text('[vendors.x]\ngateway = "none"\n')
    found = found_for(TOLLGATE_VENDORS=str(vendors), WEB_CONCURRENCY="many", PORT="x")
    refused = {name for name, it in found.items() if it.state == "refused"}
    assert refused == {"TOLLGATE_VENDORS", "WEB_CONCURRENCY", "PORT"}


def test_a_file_that_is_missing_is_named_once(tmp_path: Path) -> None:
    nowhere = str(tmp_path / "none.toml")
    read = read_settings(
        {"REDIS_URL": "redis://", "TOLLGATE_VENDORS": nowhere, "TOLLGATE_PRICES": nowhere}
    )
    found = [it.subject for it in [*check_common(read), *check_web(read)]]
    assert (found.count("TOLLGATE_VENDORS"), found.count("TOLLGATE_PRICES")) == (1, 1)


def test_what_is_worse_without_it_is_a_warning(tmp_path: Path) -> None:
    replica = f"postgresql://u:hunter2@127.0.0.1:{free_port()}/d"
    with socket.create_server(("0.0.0.0", 0)) as listener:  # noqa: S104
        found = found_for(
            DATABASE_READ_URL=replica,
            SSL_CERT_FILE=str(tmp_path / "none.pem"),
            PORT=str(listener.getsockname()[1]),
            TOLLGATE_SPOOL_DIR=str(tmp_path),
        )
    for subject in ("DATABASE_READ_URL", "SSL_CERT_FILE", "PORT"):
        assert found[subject].state == "warning", found[subject]
    assert "Reports read DATABASE_URL" in found["DATABASE_READ_URL"].message
    assert not any("hunter2" in it.message for it in found.values())


def test_a_file_without_certificates_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("not a certificate")
    found = found_for(REQUESTS_CA_BUNDLE=str(tmp_path / "ca.pem"))["REQUESTS_CA_BUNDLE"]
    assert found.state == "warning"
    assert "cannot be used (it has no certificates)" in found.message
    assert "REQUESTS_CA_BUNDLE" not in found_for(REQUESTS_CA_BUNDLE=where())


def test_options_of_gunicorn_are_checked() -> None:
    assert found_for(GUNICORN_CMD_ARGS="--wokers 3")["GUNICORN_CMD_ARGS"].state == "refused"
    assert found_for(GUNICORN_CMD_ARGS="--worker-tmp-dir=/nope")["TMPDIR"].state == "refused"


def test_a_spool_that_cannot_be_written_is_a_warning(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    env = {"REDIS_URL": "redis://", "TOLLGATE_SPOOL_DIR": str(file)}
    (found,) = spool_findings(read_settings(env).settings)
    assert found.state == "warning"
    assert "is not writable" in found.message


def test_a_web_process_exits_before_it_binds_a_port_in_use(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    redis_url: str,
    sqlite_url: str,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("REDIS_URL", redis_url)
    monkeypatch.setenv("DATABASE_URL", sqlite_url)
    monkeypatch.setattr("app.startup.web.configure", lambda _: None)
    check_web_start([("127.0.0.1", free_port())], str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as listener, pytest.raises(SystemExit):
        check_web_start([listener.getsockname()], str(tmp_path))
    assert "PORT: cannot listen on 127.0.0.1:" in caplog.text


def test_a_directory_that_the_system_does_not_allow_is_told_even_to_root() -> None:
    env = {"REDIS_URL": "redis://", "TOLLGATE_SPOOL_DIR": "/proc/spool"}
    (found,) = spool_findings(read_settings(env).settings)
    assert (found.state, found.subject) == ("warning", "TOLLGATE_SPOOL_DIR")
    assert found.message.startswith("/proc/spool cannot be created in /proc (")


@pytest.mark.parametrize("host", ["no-such-host.invalid", "127.0.0.1:8000", "192.0.2.1"])
def test_a_wrong_bind_is_a_fault_before_the_start_and_at_the_start(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    redis_url: str,
    sqlite_url: str,
    tmp_path: Path,
    host: str,
) -> None:
    environment = {"REDIS_URL": redis_url, "DATABASE_URL": sqlite_url, "BIND": host}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("app.startup.web.configure", lambda _: None)
    settings = Settings(
        redis_url=redis_url, database_url=sqlite_url, spool_dir=tmp_path, env=environment
    )
    (before,) = (it for it in check_host(settings) if it.subject in ("BIND", "PORT"))
    assert (before.subject, before.state) == ("BIND", "refused")
    with pytest.raises(SystemExit):
        check_web_start([(host, 8000)], str(tmp_path))
    assert "BIND: cannot listen on" in caplog.text
    assert "set BIND to" in before.message
