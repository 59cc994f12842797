"""What of a text may be a key."""

from sqlalchemy import Engine

from app.accounts.accounts import Accounts
from app.accounts.leaks import count_unfindable, find_leaks, fragments

SECRET = "tg_" + "abcDEF-_" * 5 + "xyz"


def test_keys_and_their_beginnings_are_found_in_any_text() -> None:
    assert fragments(f"key: {SECRET}, {SECRET}; tg_abc tg_abcd") == [SECRET, "tg_abcd"]
    assert fragments("key_0d2ef684a77f22117090") == ["key_0d2ef684a77f22117090"]
    assert fragments(" abcd\n") == ["tg_abcd"]
    for nothing in ("", "abc", "ab cd", "tg_", "ключ"):
        assert fragments(nothing) == []


def test_a_key_is_certain_only_if_all_of_it_is_known(engine: Engine) -> None:
    accounts = Accounts(engine)
    accounts.create("acme", "n")
    key, secret = accounts.create_key(["acme"], ["usage"])
    found = find_leaks(engine, [secret, f"{secret}-more", secret[:20], key.key_id, "tg_nothing"])
    assert [(leak.begins, leak.is_whole, len(leak.keys)) for leak in found] == [
        (secret[:11], True, 1),
        (secret[:11], True, 1),
        (secret[:11], False, 1),
        (key.key_id, True, 1),
        ("tg_nothing", False, 0),
    ]
    assert secret not in str(found)
    assert count_unfindable(engine) == 0
