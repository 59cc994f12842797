"""`tollgate keys find`: after a leak."""

import pytest
from sqlalchemy import update

from app.accounts.accounts import Accounts
from app.accounts.apikey import ApiKey
from app.storage.sql.tables import api_keys
from tests.cli.command import Tollgate

Made = tuple[ApiKey, str]


@pytest.fixture
def made(tollgate: Tollgate) -> Made:
    accounts = Accounts(tollgate.engine)
    accounts.create("acme", "n")
    accounts.create_key(["acme"], ["usage"])
    return accounts.create_key(["acme"], ["completions"], "the bot")


def test_a_pasted_key_is_found_and_not_printed(tollgate: Tollgate, made: Made) -> None:
    key, secret = made
    result = tollgate.run("keys", "find", stdin=f"{secret}\n")
    (row,) = result.stdout.splitlines()[1:]
    assert row.split() == [
        *(secret[:11], "certain", key.key_id, "the", "bot", "acme", "never", "active")
    ]
    assert f"tollgate keys revoke {key.key_id}" in result.stderr
    assert secret[:12] not in result.output
    assert "history" not in result.stderr


def test_the_first_characters_find_the_key(tollgate: Tollgate, made: Made) -> None:
    key, secret = made
    for fragment in (secret[:9], secret[:11], secret[:30], secret[3:11], key.key_id):
        found = tollgate.run("keys", "find", "--", fragment)
        assert key.key_id in found.stdout
        assert len(found.stdout.splitlines()) == 2
    assert "history" in tollgate.run("keys", "find", secret).stderr
    swapped = secret[:3] + secret[3:9].swapcase()
    tollgate.run("keys", "find", swapped, exit_code=1)


def test_every_key_in_a_log_is_looked_up(tollgate: Tollgate, made: Made) -> None:
    key, secret = made
    Accounts(tollgate.engine).revoke(key.key_id)
    unknown = "tg_" + "A" * 43
    log = f'x-api-key: {secret}", again {secret}\nkey={unknown}&x'
    result = tollgate.run("keys", "find", stdin=log)
    assert len(result.stdout.splitlines()) == 2
    assert f"{key.key_id} has been revoked since" in result.stderr
    assert "No key begins with tg_AAAAAAAA." in result.stderr
    assert unknown not in result.output


@pytest.mark.parametrize("text", ["", "tg_", "tg_abc", "no key in here"])
def test_a_text_without_a_key_is_refused(tollgate: Tollgate, text: str) -> None:
    assert "4 more characters" in tollgate.run("keys", "find", stdin=text, exit_code=2).stderr


def test_it_says_so_when_only_the_whole_key_could_be_found(tollgate: Tollgate, made: Made) -> None:

    key, secret = made
    with tollgate.engine.execution_options(writes=True).begin() as connection:
        connection.execute(update(api_keys).values(secret_prefix=None))
    result = tollgate.run("keys", "find", secret[:11], exit_code=1)
    assert "2 older keys" in result.stderr
    assert key.key_id in tollgate.run("keys", "find", stdin=secret).stdout
