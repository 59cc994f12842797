"""`tollgate audit`."""

import json
from dataclasses import replace

from app.accounts.accounts import Accounts
from app.storage.sql.audit import Actor, Change, record
from app.storage.sql.transactions import write
from tests.cli.command import Tollgate


def test_changes_are_listed_newest_first_and_filtered(tollgate: Tollgate) -> None:
    assert "No changes" in tollgate.run("audit", "list").stderr
    ann = replace(tollgate, env={"TOLLGATE_ACTOR": "ann"})
    ann.run("accounts", "create", "acme", "--name", "Acme")
    ann.run("accounts", "rename", "acme", "Acme Ltd")
    key, _ = Accounts(tollgate.engine, actor=Actor("key_9", "dashboard")).create_key(
        ["acme"], ["usage"]
    )
    headings, *rows = ann.run("audit", "list").stdout.splitlines()
    assert headings.split() == ["time", "actor", "by", "action", "accounts", "key", "detail"]
    assert [row.split()[1:4] for row in rows] == [
        ["key_9", "dashboard", "key.create"],
        ["ann", "cli", "account.update"],
        ["ann", "cli", "account.create"],
    ]
    assert rows[1].endswith("name: Acme → Acme Ltd")

    def listed(*options: str) -> list[str]:
        found = json.loads(ann.run("audit", "list", "--json", *options).stdout)
        return [it["action"] for it in found]

    assert listed("--account", "acme") == ["key.create", "account.update", "account.create"]
    ann.run("accounts", "create", "other", "--name", "Other")
    assert listed("--account", "other") == ["account.create"]
    for kind in ("account", "key"):
        said = ann.run("audit", "list", f"--{kind}", "nosuch", exit_code=1).stderr
        assert f"There is no {kind} nosuch." in said
    assert listed("--key", key.key_id) == ["key.create"]
    assert listed("--actor", "ann") == ["account.create", "account.update", "account.create"]


def test_the_rotation_of_a_key_is_listed_with_both_keys(tollgate: Tollgate) -> None:
    tollgate.run("accounts", "create", "acme")
    accounts = Accounts(tollgate.engine)
    old, _ = accounts.create_key(["acme"], ["usage"])
    new, _ = accounts.rotate(old.key_id, overlap_s=60)
    for key_id, actions in (
        (new.key_id, ["key.rotate"]),
        (old.key_id, ["key.rotate", "key.create"]),
    ):
        text = tollgate.run("audit", "list", "--json", "--key", key_id).stdout
        assert [it["action"] for it in json.loads(text)] == actions


def test_only_changes_of_the_range_are_listed(tollgate: Tollgate) -> None:
    old = Change("account.create", ("acme",))
    write(tollgate.engine, lambda connection: record(connection, 5, Actor("a", "cli"), old))
    assert tollgate.run("audit", "list").stdout == ""
    until = ("audit", "list", "--since", "1970-01-01", "--until")
    assert tollgate.run(*until, "1970-01-01T00:00:00.005").stdout == ""
    assert "account.create" in tollgate.run(*until, "1970-01-01T00:00:00.006").stdout
    assert "must be before" in tollgate.run(*until, "1970-01-01", exit_code=2).stderr
    assert "1970-01-01T00:00:00Z" in tollgate.run("audit", "list", "--since", "1970-01-01").stdout
