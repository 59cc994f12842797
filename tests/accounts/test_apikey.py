"""API keys as values."""

import re
from dataclasses import replace

import pytest

from app.accounts.apikey import (
    NAME_LIMIT,
    ApiKey,
    check_key,
    checked_text,
    new_key_id,
    new_secret,
    secret_digest,
    successor,
)
from app.accounts.errors import AccountsError

KEY = ApiKey("key_1", "ci", ("acme",), frozenset({"usage"}), 1_000, None, None)


@pytest.mark.parametrize(
    ("expires_at_ms", "revoked_at_ms", "now_ms", "live"),
    [
        (None, None, 2**48, True),
        (2_000, None, 1_999, True),
        (2_000, None, 2_000, False),
        (None, 1_500, 1_000, False),  # revoked for good, whatever the clock says
        (2_000, 1_500, 1_600, False),
    ],
)
def test_a_key_is_live_until_it_expires_or_is_revoked(
    expires_at_ms: int | None, revoked_at_ms: int | None, now_ms: int, live: bool
) -> None:
    key = replace(KEY, expires_at_ms=expires_at_ms, revoked_at_ms=revoked_at_ms)
    assert key.is_live(now_ms) is live


def test_ids_and_secrets_are_random() -> None:
    assert re.fullmatch(r"key_[0-9a-f]{20}", new_key_id())
    assert len({new_secret() for _ in range(100)} | {new_key_id() for _ in range(100)}) == 200


def test_the_digest_is_of_the_secret_as_text_or_bytes() -> None:
    secret = new_secret()
    digest = secret_digest(secret)
    assert digest is not None
    assert len(digest) == 32
    assert digest == secret_digest(secret.encode()) != secret_digest(new_secret())


@pytest.mark.parametrize(
    "text",
    ["", "tg_", "tg_" + "A" * 42, "tg_" + "A" * 44, "sk_" + "A" * 43, "tg_" + "é" * 43, "\ud800"],
)
def test_other_text_has_no_digest(text: str) -> None:
    assert secret_digest(text) is None


@pytest.mark.parametrize("text", ["x", "é", "a b", "x" * NAME_LIMIT])
def test_printable_text_is_a_name(text: str) -> None:
    assert checked_text("name", text) == text


@pytest.mark.parametrize("text", ["", " ", "a\n", "\x1b[2J", "\ud800", "x" * (NAME_LIMIT + 1)])
def test_other_text_is_not_and_the_error_names_the_field(text: str) -> None:
    with pytest.raises(AccountsError, match="not a valid operation ID"):
        checked_text("operation ID", text)


@pytest.mark.parametrize(
    "key",
    [
        KEY,
        replace(KEY, scopes=frozenset({"admin"}), account_ids=()),
        replace(KEY, scopes=frozenset({"completions", "usage", "admin"})),
        replace(KEY, expires_at_ms=1_001),
    ],
)
def test_a_key_with_scopes_an_account_and_time_to_live_is_valid(key: ApiKey) -> None:
    check_key(key)


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        (replace(KEY, scopes=frozenset()), "no scope. Scopes: completions, usage, admin"),
        (replace(KEY, scopes=frozenset({"usage", "root"})), "Unknown scope 'root'"),
        (replace(KEY, account_ids=()), "needs an account"),
        (replace(KEY, account_ids=(), scopes=frozenset({"admin", "usage"})), "needs an account"),
        (replace(KEY, expires_at_ms=1_000), "already be expired"),
    ],
)
def test_other_keys_are_rejected_with_the_reason(key: ApiKey, problem: str) -> None:
    with pytest.raises(AccountsError, match=problem):
        check_key(key)


def test_a_successor_has_all_of_the_key_but_its_id_and_its_times() -> None:
    key = replace(KEY, expires_at_ms=1_500)
    new = successor(key, 10_000)
    assert new.key_id != key.key_id
    assert new == replace(key, key_id=new.key_id, created_at_ms=10_000, expires_at_ms=10_500)
    assert successor(KEY, 10_000).expires_at_ms is None
