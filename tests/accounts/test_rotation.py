"""Rotation of keys."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Engine

from app.accounts.accounts import Accounts
from app.accounts.apikey import EXPIRY_LIMIT_MS
from app.accounts.errors import AccountsError


def test_rotation_creates_a_key_like_the_old_one_which_stays_live(accounts: Accounts) -> None:
    old, old_secret = accounts.create_key(["acme", "Acme"], ["usage"], "n")
    new, secret = accounts.rotate(old.key_id)
    assert new == replace(old, key_id=new.key_id, secret_prefix=secret[:11])
    assert new.key_id != old.key_id
    assert accounts.find_key(secret) == new
    assert accounts.find_key(old_secret) == old


def test_a_rotated_key_lives_as_long_as_the_old_one_did(engine: Engine) -> None:
    times_s = iter((100, 100, 150))
    accounts = Accounts(engine, now_s=lambda: next(times_s))
    accounts.create("acme", "n")
    old, _ = accounts.create_key(["acme"], ["completions"], expires_at_ms=160_000)
    new, _ = accounts.rotate(old.key_id)
    assert (new.created_at_ms, new.expires_at_ms) == (150_000, 210_000)


def test_a_rotated_key_expires_by_the_last_day_that_every_zone_has(engine: Engine) -> None:
    times_s = iter((0, 0, 3 * 365 * 86_400))
    accounts = Accounts(engine, now_s=lambda: next(times_s))
    accounts.create("acme", "n")
    late_ms = EXPIRY_LIMIT_MS - 365 * 86_400_000
    old, _ = accounts.create_key(["acme"], ["completions"], expires_at_ms=late_ms)
    new, _ = accounts.rotate(old.key_id)
    assert new.expires_at_ms == EXPIRY_LIMIT_MS
    assert str(datetime.fromtimestamp(EXPIRY_LIMIT_MS / 1000, ZoneInfo("Pacific/Kiritimati")))


def test_one_operation_makes_one_key_and_names_it_when_repeated(accounts: Accounts) -> None:
    """Case F07: the response to a rotation was lost, and the rotation is retried."""
    old, _ = accounts.create_key(["acme"], ["completions"])
    new, _ = accounts.rotate(old.key_id, "rotation 1")
    accounts.revoke(old.key_id)
    with pytest.raises(AccountsError, match=f"If it is lost, rotate {new.key_id} in its place"):
        accounts.rotate(old.key_id, "rotation 1")
    assert len(accounts.list_keys()) == 2


def test_a_lost_successor_of_a_key_that_expires_is_rotated_in_its_place(
    accounts: Accounts,
) -> None:
    old, _ = accounts.create_key(["acme"], ["completions"])
    lost, _ = accounts.rotate(old.key_id, "rotation 1", overlap_s=60)
    with pytest.raises(AccountsError, match=f"rotate {lost.key_id} in its place"):
        accounts.rotate(old.key_id, "rotation 1", overlap_s=60)
    found, _ = accounts.rotate(lost.key_id, "rotation 1")
    accounts.revoke(lost.key_id)
    live = [key.key_id for key in accounts.list_keys() if key.revoked_at_ms is None]
    assert sorted(live) == sorted([old.key_id, found.key_id])


def test_an_operation_id_counts_for_one_key_alone(accounts: Accounts) -> None:
    keys = [accounts.create_key(["acme"], ["completions"])[0] for _ in range(2)]
    for key in keys:
        accounts.rotate(key.key_id, "yearly")
    accounts.rotate(keys[0].key_id, "again")
    for _ in range(2):
        accounts.rotate(keys[0].key_id)
    assert len(accounts.list_keys()) == 7


def test_one_operation_sent_many_times_at_once_makes_one_key(accounts: Accounts) -> None:
    old, _ = accounts.create_key(["acme"], ["completions"])

    def rotate(_: int) -> str | AccountsError:
        try:
            return accounts.rotate(old.key_id, "rotation 1")[0].key_id
        except AccountsError as exc:
            return exc

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(rotate, range(8)))
    (made,) = [answer for answer in answers if isinstance(answer, str)]
    assert all(made in str(answer) for answer in answers)
    assert len(accounts.list_keys()) == 2


@pytest.mark.parametrize("operation_id", ["", "a\0b", "x" * 201])
def test_invalid_operation_ids_are_rejected(accounts: Accounts, operation_id: str) -> None:
    key, _ = accounts.create_key(["acme"], ["completions"])
    with pytest.raises(AccountsError, match="operation ID"):
        accounts.rotate(key.key_id, operation_id)


def test_a_key_that_no_longer_works_is_not_rotated(engine: Engine) -> None:
    now_s = 100.0
    accounts = Accounts(engine, now_s=lambda: now_s)
    accounts.create("acme", "n")
    revoked, _ = accounts.create_key(["acme"], ["completions"])
    expired, _ = accounts.create_key(["acme"], ["completions"], expires_at_ms=160_000)
    accounts.revoke(revoked.key_id)
    now_s = 160.0
    for key in (revoked, expired):
        with pytest.raises(AccountsError, match="revoked or expired"):
            accounts.rotate(key.key_id)


def test_a_rotation_with_an_overlap_lets_the_old_key_expire_by_itself(engine: Engine) -> None:
    now_s = 100.0
    accounts = Accounts(engine, now_s=lambda: now_s)
    accounts.create("acme", "n")
    old, _ = accounts.create_key(["acme"], ["completions"])
    new, _ = accounts.rotate(old.key_id, overlap_s=50)
    retired = accounts.get_key(old.key_id)
    assert retired is not None
    assert (retired.retired_at_ms, retired.expires_at_ms) == (100_000, 150_000)
    assert (new.retired_at_ms, new.expires_at_ms) == (None, None)
    now_s = 149.0
    assert retired.is_live(149_999)
    assert not retired.is_live(150_000)
    with pytest.raises(AccountsError, match="already rotated"):
        accounts.rotate(old.key_id)


def test_a_key_lives_on_if_its_successor_was_never_shown(accounts: Accounts) -> None:
    old, _ = accounts.create_key(["acme"], ["completions"])
    new, _ = accounts.rotate(old.key_id, enabled=False)
    with pytest.raises(OSError, match="full"), accounts.hand_over(new, overlap_s=50):
        raise OSError("full")
    assert accounts.list_keys() == [old]
    again, _ = accounts.rotate(old.key_id, enabled=False)
    with accounts.hand_over(again, overlap_s=50):
        assert accounts.get_key(old.key_id) == old
    retired = accounts.get_key(old.key_id)
    assert retired is not None
    assert retired.expires_at_ms == old.created_at_ms + 50_000
