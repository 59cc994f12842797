"""The ledger's database, opened for one command."""

import click
import pytest
from sqlalchemy import text

from app.accounts.accounts import Accounts
from app.cli.ledger import open_ledger
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
