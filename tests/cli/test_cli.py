"""The table of commands, and what a wrong environment says."""

import click
import pytest
from click.testing import CliRunner

from app.accounts.accounts import Accounts
from app.cli import COMMANDS, load_command, main
from app.cli.output import LINE_LIMIT
from tests.cli.command import Tollgate


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


@pytest.mark.parametrize(
    ("command", "meant"),
    [
        (["keyz"], "keys"),
        (["vendor"], "vendors"),
        (["reconsile"], "reconcile"),
        (["keys", "craete"], "create"),
        (["accounts", "limits"], "limit"),
        (["db", "upgrad"], "upgrade"),
    ],
)
def test_a_mistyped_command_names_the_one_that_was_meant(
    run: CliRunner, command: list[str], meant: str
) -> None:
    result = run.invoke(main, command)
    assert (result.exit_code, result.stdout) == (2, "")
    *_, message = result.stderr.splitlines()
    assert f"'{meant}'" in message
    assert "Did you mean" in message


@pytest.mark.parametrize("command", [["db", "upgrade"], ["accounts", "list"], ["usage"]])
def test_a_wrong_setting_is_a_sentence_and_exit_code_1(run: CliRunner, command: list[str]) -> None:
    result = run.invoke(main, command, env={"DATABASE_URL": "mysql://user:secret@host/x"})
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("Error: DATABASE_URL must begin with")
    assert "secret" not in result.stderr


@pytest.mark.parametrize(
    "command",
    [
        ["accounts", "create", "caf\udce9"],
        ["accounts", "rename", "acme", "caf\udce9"],
        ["audit", "list", "--actor", "caf\udce9"],
        ["usage", "--user=caf\udce9"],
        ["requests", "show", "a\0b"],
    ],
)
def test_an_argument_that_is_not_text_is_named(run: CliRunner, command: list[str]) -> None:
    result = run.invoke(main, command, env={"DATABASE_URL": "sqlite:////nowhere/ledger.db"})
    assert (result.exit_code, result.stdout) == (2, "")
    *_, message = result.stderr.splitlines()
    assert message.startswith("Error: The argument '")
    assert "is not valid UTF-8 text" in message


def test_a_message_repeats_little_of_an_argument_and_none_of_its_control_characters(
    tollgate: Tollgate,
) -> None:
    result = tollgate.run("accounts", "enable", f"\x1b]0;title\x07\n{'a' * 5_000}", exit_code=1)
    for line in result.stderr.splitlines():
        assert line.isprintable()
        assert len(line.removeprefix("Error: ")) <= LINE_LIMIT
    assert "tollgate accounts list" in result.stderr


@pytest.mark.parametrize("usd", ["1e999999999", "9" * 5_000, "1e-999999999", "1e31"])
@pytest.mark.parametrize("option", ["--budget-usd", "--soft-usd"])
def test_an_amount_of_any_size_is_answered_by_one_line(
    tollgate: Tollgate, option: str, usd: str
) -> None:
    Accounts(tollgate.engine).create("acme", "Acme")
    result = tollgate.run("accounts", "limit", "acme", option, usd, exit_code=2)
    *_, message = result.stderr.splitlines()
    assert f"'{option}'" in message
