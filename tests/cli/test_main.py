"""The table of commands, and what a wrong environment says."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from sqlalchemy import inspect

from app.cli import COMMANDS, load_command, main
from app.storage.sql.engine import create_engine
from app.storage.sql.migrations import schema_is_current


@pytest.fixture
def run() -> CliRunner:
    return CliRunner()


def test_the_help_names_every_command(run: CliRunner) -> None:
    result = run.invoke(main, ["--help"])
    assert result.exit_code == 0
    for name, entry in COMMANDS.items():
        assert name in result.stdout
        assert entry.summary in result.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_every_entry_is_a_command_with_help_of_its_own(run: CliRunner, name: str) -> None:
    assert isinstance(load_command(name), click.Command)
    result = run.invoke(main, [name, "--help"])
    assert (result.exit_code, result.stderr) == (0, "")


def test_an_unknown_command_is_a_mistake_of_usage(run: CliRunner) -> None:
    assert run.invoke(main, ["nothing"]).exit_code == 2


@pytest.mark.parametrize("command", [["db", "upgrade"], ["accounts", "list"], ["usage"]])
def test_a_wrong_setting_is_a_sentence_and_exit_code_1(run: CliRunner, command: list[str]) -> None:
    result = run.invoke(main, command, env={"DATABASE_URL": "mysql://user:secret@host/x"})
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("Error: DATABASE_URL must begin with")
    assert "secret" not in result.stderr


def test_upgrade_makes_the_schema_and_may_be_repeated(run: CliRunner, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'new' / 'ledger.db'}"
    for _ in range(2):
        result = run.invoke(main, ["db", "upgrade"], env={"DATABASE_URL": url})
        assert (result.exit_code, result.stdout) == (0, "")
        assert result.stderr == "The ledger's schema is up to date.\n"
    engine = create_engine(url)
    assert schema_is_current(engine)
    assert "entries" in inspect(engine).get_table_names()
    engine.dispose()


def test_upgrade_says_when_the_database_does_not_answer(run: CliRunner) -> None:
    url = "postgres://user:secret@127.0.0.1:1/x"
    result = run.invoke(main, ["db", "upgrade"], env={"DATABASE_URL": url})
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.endswith("Check DATABASE_URL.\n")
    assert "secret" not in result.stderr
