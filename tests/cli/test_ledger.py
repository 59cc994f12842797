"""The ledger's database, opened for one command."""

import click
import pytest
from sqlalchemy import text

from app.accounts.accounts import Accounts
from app.cli.ledger import open_ledger, open_reports
from app.settings import ConfigError
from app.storage.sql.transactions import reading


def test_it_is_the_database_of_the_environment(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", sqlite_url)
    with open_ledger() as engine, reading(engine) as connection:
        assert connection.execute(text("SELECT 1")).scalar() == 1


def test_a_mistake_about_accounts_is_a_message(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", sqlite_url)
    with pytest.raises(click.ClickException, match="nobody"), open_ledger() as engine:
        Accounts(engine).create_key(["nobody"], ["completions"])


def test_a_database_that_is_not_there_or_empty_says_what_to_do(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{tmp_path}/new.db")
    with pytest.raises(click.ClickException, match="tollgate db upgrade"), open_ledger() as engine:
        Accounts(engine).list()


def test_an_address_of_another_kind_is_a_wrong_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "mysql://host/x")
    with pytest.raises(ConfigError), open_ledger():
        pass


def test_a_report_reads_the_replica(
    sqlite_url: str, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", sqlite_url)
    monkeypatch.setenv("DATABASE_READ_URL", postgres_url)
    with open_reports() as source:
        assert source.is_replica
        assert source.engine.dialect.name == "postgresql"


def test_a_report_reads_the_primary_if_the_replica_is_down_and_says_so(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DATABASE_URL", sqlite_url)
    monkeypatch.setenv("DATABASE_READ_URL", "postgres://u:secret@127.0.0.1:1/x")
    with open_reports() as source:
        assert source.engine.dialect.name == "sqlite"
    found = capsys.readouterr().err
    assert "DATABASE_READ_URL is unavailable" in found
    assert "secret" not in found


def test_a_replica_that_is_no_postgresql_is_a_wrong_setting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DATABASE_READ_URL", "sqlite:///secret.db")
    with pytest.raises(ConfigError, match="DATABASE_READ_URL must begin") as caught, open_reports():
        pass
    assert "secret" not in str(caught.value)
