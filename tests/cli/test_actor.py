"""Who is recorded for what a command changes."""

import getpass
import socket

import pytest

from app.accounts.accounts import Accounts
from app.cli.actor import cli_actor, record_after
from app.settings import ConfigError
from app.storage.sql.audit import AuditQuery, Change, audit_entries
from tests.cli.command import Tollgate


def test_the_actor_is_the_systems_user_and_host_unless_it_is_set() -> None:
    assert cli_actor({}).name == f"{getpass.getuser()}@{socket.gethostname()}"
    assert cli_actor({"TOLLGATE_ACTOR": "Ann"}).name == "Ann"


def test_a_user_without_a_name_is_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("os.getuid", lambda: 54_321)
    assert cli_actor({}).name == f"uid-54321@{socket.gethostname()}"


@pytest.mark.parametrize("name", ["a\nb", " ", "x" * 201])
def test_an_actor_that_is_no_name_is_refused(tollgate: Tollgate, name: str) -> None:
    with pytest.raises(ConfigError, match="TOLLGATE_ACTOR"):
        cli_actor({"TOLLGATE_ACTOR": name})
    wrong = Tollgate(tollgate.database_url, tollgate.engine, {"TOLLGATE_ACTOR": name})
    assert "TOLLGATE_ACTOR" in wrong.run("accounts", "create", "acme", exit_code=1).stderr
    assert Accounts(tollgate.engine).list() == []


def test_every_command_that_changes_something_is_recorded(tollgate: Tollgate) -> None:
    ann = Tollgate(tollgate.database_url, tollgate.engine, {"TOLLGATE_ACTOR": "ann"})
    ann.run("accounts", "create", "acme")
    ann.run("accounts", "limit", "acme", "--rpm", "5")
    ann.run("accounts", "limit", "acme")
    secret = ann.run("keys", "create", "acme").stdout.strip()
    ann.run("prices", "update", "--since", "1d")
    ann.run("prune", "--older-than", "90d")
    found = audit_entries(tollgate.engine, AuditQuery())
    assert [it.change.action for it in found] == [
        "prune",
        "prices.update",
        "key.create",
        "limits.set",
        "account.create",
    ]
    assert {(it.actor, it.channel) for it in found} == {("ann", "cli")}
    assert secret not in str(found)


def test_a_change_elsewhere_is_made_though_the_ledger_is_down(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://u@127.0.0.1:1/db")
    record_after(Change("prices.import"))
    assert "not in the audit trail" in capsys.readouterr().err
