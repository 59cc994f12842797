"""The table of commands, and what a wrong environment says."""

import click
import pytest
from click.testing import CliRunner

from app.cli import COMMANDS, load_command, main


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
