"""`tollgate accounts limit` and `tollgate keys limit`."""

import json
import time
from typing import Any

import pytest

from app.accounts.accounts import Accounts
from app.ledger.posting import Ledger
from app.pricing.price_book import PriceBook
from app.vocabulary.limits import Limits
from app.vocabulary.money import NANO
from tests.cli.command import Tollgate
from tests.support.events import usage_event


def shown(tollgate: Tollgate, *arguments: str) -> dict[str, Any]:
    limits: dict[str, Any] = json.loads(tollgate.run(*arguments, "--json").stdout)
    return limits


def test_limits_are_set_one_by_one_and_lifted(tollgate: Tollgate) -> None:
    tollgate.run("accounts", "create", "acme")
    limit = ("accounts", "limit", "acme")
    result = tollgate.run(*limit, "--rpm", "60", "--budget-usd", "10.5", "--per", "day")
    assert "within 10 s" in result.stderr
    assert [line.split("  ")[0] for line in result.stdout.splitlines()] == [
        "requests per minute",
        "tokens per minute",
        "concurrent streams",
        "budget per day (UTC)",
        "warning per day (UTC)",
        "spent this day (UTC)",
    ]
    assert [line.split()[-1] for line in result.stdout.splitlines()] == [
        "60",
        "none",
        "none",
        "$10.50",
        "none",
        "ok",
    ]
    tollgate.run(*limit, "--tpm", "1000", "--streams", "5", "--rpm", "none", "--soft-usd", "0.01")
    assert shown(tollgate, *limit) == {
        "kind": "account",
        "subject_id": "acme",
        "requests_per_minute": None,
        "tokens_per_minute": 1000,
        "streams": 5,
        "budget_nanousd": 10_500_000_000,
        "soft_nanousd": 10_000_000,
        "period": "day",
    }


def test_what_is_spent_of_a_budget_is_shown_and_nothing_without_one(
    tollgate: Tollgate, prices: PriceBook
) -> None:
    tollgate.run("accounts", "create", "acme")
    assert "spent" not in tollgate.run("accounts", "limit", "acme", "--rpm", "5").stdout
    event = usage_event(account_id="acme", started_at_ms=time.time_ns() // 1_000_000)
    Ledger(tollgate.engine, prices).post([event])
    output = tollgate.run("accounts", "limit", "acme", "--budget-usd", "0.000001").stdout
    assert output.splitlines()[-1].endswith("$0.00000165, over")


def test_a_key_has_limits_of_its_own_and_its_successor_inherits_them(tollgate: Tollgate) -> None:
    accounts = Accounts(tollgate.engine)
    accounts.create("acme", "Acme")
    tollgate.run("accounts", "limit", "acme", "--streams", "3")
    key, secret = accounts.create_key(["acme"], {"completions"})
    tollgate.run("keys", "limit", key.key_id, "--tpm", "500")
    of_account = Limits(kind="account", subject_id="acme", streams=3)
    of_key = Limits(kind="key", subject_id=key.key_id, tokens_per_minute=500)
    found = accounts.find_key(secret)
    assert found is not None
    assert set(found.limits) == {of_account, of_key}
    new, new_secret = accounts.rotate(key.key_id)
    of_new = Limits(kind="key", subject_id=new.key_id, tokens_per_minute=500)
    assert set(new.limits) == {of_account, of_new}
    assert accounts.find_key(new_secret) == new
    assert shown(tollgate, "keys", "limit", new.key_id)["tokens_per_minute"] == 500


def test_a_key_of_several_accounts_knows_the_limits_of_each(tollgate: Tollgate) -> None:
    accounts = Accounts(tollgate.engine)
    for account_id in ("acme", "ACME", "free"):
        accounts.create(account_id, account_id)
    accounts.set_limits("account", "acme", streams=1)
    accounts.set_limits("account", "ACME", streams=2)
    key, secret = accounts.create_key(["free", "acme", "ACME"], {"completions"})
    accounts.set_limits("key", key.key_id, budget_nanousd=NANO)
    found = accounts.find_key(secret)
    assert found is not None
    assert found.account_ids == ("ACME", "acme", "free")
    assert sorted((it.subject_id, it.streams) for it in found.limits if it.kind == "account") == [
        ("ACME", 2),
        ("acme", 1),
    ]
    assert [it.budget_nanousd for it in found.limits if it.kind == "key"] == [NANO]


@pytest.mark.parametrize(
    ("arguments", "exit_code", "told"),
    [
        (("accounts", "limit", "nobody"), 1, "tollgate accounts list"),
        (("accounts", "limit", "nobody", "--rpm", "1"), 1, "tollgate accounts list"),
        (("keys", "limit", "key_0"), 1, "tollgate keys list"),
        (("accounts", "limit", "acme", "--rpm", "0"), 1, "not 0."),
        (("accounts", "limit", "acme", "--soft-usd", "2", "--budget-usd", "1"), 1, "soft bound"),
        (("accounts", "limit", "acme", "--tpm", "1.5"), 2, "must be a whole number or `none`"),
        (("accounts", "limit", "acme", "--budget-usd", "$5"), 2, "amount of dollars"),
        (("accounts", "limit", "acme", "--budget-usd", "nan"), 2, "amount of dollars"),
        (("accounts", "limit", "acme", "--budget-usd", "-1"), 1, "not -$1.00."),
        (("accounts", "limit", "acme", "--per", "year"), 2, "year"),
    ],
)
def test_what_makes_no_sense_changes_nothing(
    tollgate: Tollgate, arguments: tuple[str, ...], exit_code: int, told: str
) -> None:
    tollgate.run("accounts", "create", "acme")
    result = tollgate.run(*arguments, exit_code=exit_code)
    assert told in result.stderr
    assert result.stdout == ""
    assert Accounts(tollgate.engine).limits("account", "acme") == Limits(
        kind="account", subject_id="acme"
    )
