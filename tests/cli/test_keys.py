"""`tollgate keys`."""

import json
import time
from typing import Any

import pytest

from app.accounts.accounts import Accounts
from app.accounts.apikey import ApiKey
from app.accounts.errors import AccountsError
from tests.cli.command import Tollgate

DAY_MS = 86_400_000


@pytest.fixture
def acme(tollgate: Tollgate) -> Tollgate:
    """The command line, with the accounts `acme` and `beta`."""
    for account_id in ("acme", "beta"):
        Accounts(tollgate.engine).create(account_id, account_id)
    return tollgate


def _only_key(tollgate: Tollgate) -> ApiKey:
    (key,) = Accounts(tollgate.engine).list_keys()
    return key


def _listed(tollgate: Tollgate) -> list[dict[str, Any]]:
    keys: list[dict[str, Any]] = json.loads(tollgate.run("keys", "list", "--json").stdout)
    return keys


def test_create_prints_a_key_that_works_and_nothing_else(acme: Tollgate) -> None:
    result = acme.run("keys", "create", "acme")
    secret = result.stdout.removesuffix("\n")
    key = Accounts(acme.engine).find_key(secret)
    assert key is not None
    assert (key.account_ids, key.expires_at_ms) == (("acme",), None)
    assert key.scopes == {"completions"}
    assert key.key_id in result.stderr
    assert secret not in result.stderr


def test_a_key_has_the_accounts_scopes_and_name_it_was_given(acme: Tollgate) -> None:
    acme.run(
        *("keys", "create", "beta", "acme", "--name", "the bot"),
        *("--scope", "usage", "--scope", "completions"),
    )
    key = _only_key(acme)
    assert key.account_ids == ("acme", "beta")
    assert key.scopes == {"completions", "usage"}
    assert key.name == "the bot"


def test_a_key_expires_after_a_span_or_at_a_time_in_utc(acme: Tollgate) -> None:
    before_ms = int(time.time() * 1000)
    acme.run("keys", "create", "acme", "--expires", "90d")
    after_ms = int(time.time() * 1000)
    acme.run("keys", "create", "acme", "--expires", "2099-01-02T03:04")
    spanned, timed = (key["expires_at_ms"] for key in _listed(acme))
    assert before_ms + 90 * DAY_MS <= spanned <= after_ms + 90 * DAY_MS
    assert timed == 4_071_006_240_000


@pytest.mark.parametrize(
    ("arguments", "exit_code", "said"),
    [
        (["acme", "--expires", "2020-01-01"], 1, "already be expired"),
        (["acme", "--expires", "0d"], 1, "already be expired"),
        (["acme", "--expires", "soon"], 2, "must be a duration"),
        (["acme", "--expires", "9999999d"], 2, "must be a duration"),
        (["acme", "--name", "a\x9bc"], 1, "printable characters"),
        (["acme", "--scope", "root"], 2, "completions"),
        (["nobody"], 1, "accounts create"),
        ([], 1, "needs an account"),
        (["--scope", "admin", "--scope", "usage"], 1, "needs an account"),
    ],
)
def test_a_key_that_makes_no_sense_is_not_made(
    acme: Tollgate, arguments: list[str], exit_code: int, said: str
) -> None:
    result = acme.run("keys", "create", *arguments, exit_code=exit_code)
    assert result.stdout == ""
    assert said in result.stderr
    assert Accounts(acme.engine).list_keys() == []


def test_an_admin_key_needs_no_account(acme: Tollgate) -> None:
    acme.run("keys", "create", "--scope", "admin")
    assert _only_key(acme).account_ids == ()


def test_the_list_shows_each_keys_state_and_no_secret(acme: Tollgate) -> None:
    assert "tollgate keys create" in acme.run("keys", "list").stderr
    secrets = [acme.run("keys", "create", "acme").stdout.strip() for _ in range(2)]
    acme.run("keys", "revoke", _listed(acme)[0]["key_id"])
    Accounts(acme.engine, now_s=lambda: 5.0).create_key(["acme"], ["usage"], "old", 6_000)
    table, listed = acme.run("keys", "list").stdout, _listed(acme)
    assert {key["state"] for key in listed} == {"active", "expired", "revoked"}
    assert [line.split()[-1] for line in table.splitlines()[1:]] == [k["state"] for k in listed]
    assert not any(secret in table + json.dumps(listed) for secret in secrets)


def test_revoke_returns_when_no_process_accepts_the_key_any_more(acme: Tollgate) -> None:
    acme.run("keys", "create", "acme")
    key_id = _only_key(acme).key_id
    said = acme.run("keys", "revoke", key_id).stderr.splitlines()
    assert said == [
        f"{key_id} is revoked. Waiting 0.002 s, until every web process has noticed. Ctrl-C ends"
        " only the waiting.",
        "It is refused everywhere.",
    ]
    revoked_at_ms = _only_key(acme).revoked_at_ms
    assert revoked_at_ms is not None
    acme.run("keys", "revoke", key_id)
    assert _only_key(acme).revoked_at_ms == revoked_at_ms


@pytest.mark.parametrize("verb", ["revoke", "rotate"])
def test_a_key_that_does_not_exist_is_named(acme: Tollgate, verb: str) -> None:
    result = acme.run("keys", verb, "key_nowhere", exit_code=1)
    assert "key_nowhere" in result.stderr
    assert result.stdout == ""


def test_rotate_prints_a_second_key_like_the_first_and_both_work(acme: Tollgate) -> None:
    first = acme.run("keys", "create", "acme", "--scope", "usage").stdout.strip()
    second = acme.run("keys", "rotate", _only_key(acme).key_id).stdout.strip()
    old, new = map(Accounts(acme.engine).find_key, (first, second))
    assert old is not None
    assert new is not None
    assert old.key_id != new.key_id
    assert (new.account_ids, new.scopes) == (old.account_ids, old.scopes)
    assert old.revoked_at_ms is None


def test_a_rotation_with_an_overlap_says_until_when_the_old_key_works(acme: Tollgate) -> None:
    acme.run("keys", "create", "acme")
    key_id = _only_key(acme).key_id
    before_ms = int(time.time() * 1000)
    rotation = ("keys", "rotate", key_id, "--overlap", "24h", "--operation-id", "2026-11")
    said = acme.run(*rotation).stderr
    old, new = _listed(acme)
    assert before_ms + DAY_MS <= old["expires_at_ms"] <= int(time.time() * 1000) + DAY_MS
    assert f"{key_id} works until " in said
    assert (old["state"], new["state"], new["expires_at_ms"]) == ("active", "active", None)
    assert new["key_id"] in acme.run(*rotation, exit_code=1).stderr
    assert "already rotated" in acme.run("keys", "rotate", key_id, exit_code=1).stderr
    assert [key["expires_at_ms"] for key in _listed(acme)] == [old["expires_at_ms"], None]


@pytest.mark.parametrize("overlap", ["0h", "soon", "2026-11-29", "-1h"])
def test_an_overlap_is_a_duration(acme: Tollgate, overlap: str) -> None:
    acme.run("keys", "create", "acme")
    key_id = _only_key(acme).key_id
    said = acme.run("keys", "rotate", key_id, f"--overlap={overlap}", exit_code=2).stderr
    assert "24h" in said
    assert _only_key(acme).expires_at_ms is None


def test_a_key_of_a_disabled_account_is_listed_as_disabled(acme: Tollgate) -> None:
    acme.run("keys", "create", "acme")
    Accounts(acme.engine).disable("acme")
    (key,) = _listed(acme)
    assert (key["state"], key["disabled_account_ids"]) == ("disabled", ["acme"])
    assert "Disabled: acme." in acme.run("keys", "create", "acme", "beta").stderr


def test_a_rotation_that_died_before_it_showed_its_key_may_be_repeated(acme: Tollgate) -> None:
    acme.run("keys", "create", "acme")
    accounts, old = Accounts(acme.engine), _only_key(acme)
    lost, secret = accounts.rotate(old.key_id, "2026-11", enabled=False)
    found = accounts.find_key(secret)
    assert found is not None
    assert found.revoked_at_ms is not None
    shown = acme.run("keys", "rotate", old.key_id, "--operation-id", "2026-11").stdout.strip()
    assert {key.key_id for key in accounts.list_keys()} == {
        old.key_id,
        accounts.find_key(shown).key_id,  # type: ignore[union-attr]
    }
    # Should it live after all, it does not say that all went well.
    with pytest.raises(AccountsError, match="does not work"), accounts.hand_over(lost):
        pass


def test_a_rotation_that_is_repeated_makes_one_key_and_names_it(acme: Tollgate) -> None:
    acme.run("keys", "create", "acme")
    rotation = ("keys", "rotate", _only_key(acme).key_id, "--operation-id", "2026-11")
    acme.run(*rotation)
    repeated = acme.run(*rotation, exit_code=1)
    _, new = Accounts(acme.engine).list_keys()
    assert new.key_id in repeated.stderr
    assert repeated.stdout == ""
