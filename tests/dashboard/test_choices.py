"""The names of accounts and keys, as charts and fields show them."""

import pytest

from app.dashboard.choices import KEYS_LIMIT, Choices

CHOICES = Choices(
    accounts=["acme"],
    vendors=[],
    statuses=[],
    endpoints=[],
    account_names={"acme": "Acme Ltd"},
    key_names={"key_0123456789": "production", "key_abcdef": ""},
)


@pytest.mark.parametrize(
    ("by", "label", "title"),
    [
        ("account", "acme", "Acme Ltd"),
        ("account", "gone", "gone"),
        ("key", "key_0123456789", "production \N{MIDDLE DOT} 012345"),
        ("key", "key_abcdef", "key_abcdef"),
        ("user", "", "(none)"),
        ("model", "acme", "acme"),
    ],
)
def test_a_group_has_a_name_that_tells_it_from_others(by: str, label: str, title: str) -> None:
    assert CHOICES.title_of(by, label) == title


def test_the_newest_keys_are_offered() -> None:
    many = {f"key_{at}": "" for at in range(KEYS_LIMIT + 5)}
    keys = Choices([], [], [], [], {}, many).keys
    assert len(keys) == KEYS_LIMIT
    assert keys[0] == f"key_{KEYS_LIMIT + 4}"
