"""`tollgate accounts`."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.accounts.accounts import Accounts
from app.cli import main
from tests.cli.command import Tollgate


def test_create_prints_the_id_alone_and_says_what_comes_next(tollgate: Tollgate) -> None:
    result = tollgate.run("accounts", "create", "acme", "--name", "Acme, Inc.")
    assert result.stdout == "acme\n"
    assert "tollgate keys create acme" in result.stderr
    (account,) = Accounts(tollgate.engine).list()
    assert (account.account_id, account.name) == ("acme", "Acme, Inc.")


def test_the_name_is_the_id_when_none_is_given(tollgate: Tollgate) -> None:
    tollgate.run("accounts", "create", "acme")
    assert [account.name for account in Accounts(tollgate.engine).list()] == ["acme"]


@pytest.mark.parametrize("account_id", ["", "a b", "a/b", "-a", "x" * 65, "é"])
def test_an_id_of_no_use_is_refused_with_the_rule(tollgate: Tollgate, account_id: str) -> None:
    result = tollgate.run("accounts", "create", "--", account_id, exit_code=1)
    assert "1 to 64 letters" in result.stderr
    assert result.stdout == ""


def test_an_account_is_made_once_and_case_tells_two_apart(tollgate: Tollgate) -> None:
    tollgate.run("accounts", "create", "acme")
    assert "already exists" in tollgate.run("accounts", "create", "acme", exit_code=1).stderr
    tollgate.run("accounts", "create", "ACME")
    listed = json.loads(tollgate.run("accounts", "list", "--json").stdout)
    assert [account["account_id"] for account in listed] == ["ACME", "acme"]


def test_the_list_is_a_table_for_people(tollgate: Tollgate) -> None:
    assert "tollgate accounts create" in tollgate.run("accounts", "list").stderr
    tollgate.run("accounts", "create", "acme", "--name", "A")
    tollgate.run("accounts", "describe", "acme", "the first")
    headings, row = tollgate.run("accounts", "list").stdout.splitlines()
    assert headings.split() == ["account", "name", "created", "state", "description"]
    assert row.split()[:2] == ["acme", "A"]
    assert row.endswith("active  the first")


def test_an_account_is_renamed_described_disabled_and_enabled(tollgate: Tollgate) -> None:
    tollgate.run("accounts", "create", "acme")
    tollgate.run("accounts", "rename", "acme", "Acme Ltd")
    tollgate.run("accounts", "describe", "acme", "of Ann")
    said = tollgate.run("accounts", "disable", "acme").stderr
    assert "acme is disabled." in said
    assert said.endswith("Its keys are refused everywhere.\n")
    (listed,) = json.loads(tollgate.run("accounts", "list", "--json").stdout)
    assert (listed["name"], listed["description"]) == ("Acme Ltd", "of Ann")
    assert listed["disabled_at_ms"] > 0
    tollgate.run("accounts", "describe", "acme", "")
    assert "within 10 s" in tollgate.run("accounts", "enable", "acme").stderr
    (listed,) = json.loads(tollgate.run("accounts", "list", "--json").stdout)
    assert (listed["description"], listed["disabled_at_ms"]) == (None, None)


@pytest.mark.parametrize("verb", [("rename", "n"), ("describe", "n"), ("disable",), ("enable",)])
def test_an_account_that_does_not_exist_is_named(tollgate: Tollgate, verb: tuple[str, ...]) -> None:
    command = ("accounts", verb[0], "nobody", *verb[1:])
    assert "no account 'nobody'" in tollgate.run(*command, exit_code=1).stderr


@pytest.mark.parametrize(
    "command",
    [
        ("accounts", "create", "acme"),
        ("accounts", "list"),
        ("keys", "create", "acme"),
        ("keys", "list"),
        ("keys", "revoke", "key_1"),
        ("keys", "rotate", "key_1"),
        ("usage",),
        ("usage", "acme"),
    ],
)
def test_a_ledger_that_is_not_set_up_leads_to_the_command_that_does_it(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    env = {"DATABASE_URL": f"sqlite:///{tmp_path / 'ledger.db'}"}
    result = CliRunner().invoke(main, command, env=env)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "tollgate db upgrade" in result.stderr


def test_a_database_url_of_no_use_is_named() -> None:
    result = CliRunner().invoke(main, ["accounts", "list"], env={"DATABASE_URL": "mysql://x"})
    assert (result.exit_code, result.stdout) == (1, "")
    assert "DATABASE_URL" in result.stderr
