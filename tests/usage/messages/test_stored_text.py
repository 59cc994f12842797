"""Text as a ledger can store it."""

import pytest

from app.usage.messages.stored_text import clip, clip_or_none
from app.vocabulary.text import TEXT_LIMIT


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("", ""),
        ("Zoë 日本 \U0001f600", "Zoë 日本 \U0001f600"),
        ("a\0b", "a\ufffdb"),
        ("a\ud800b", "a\ufffdb"),
        ("\udc00\ud800", "\ufffd\ufffd"),
        ("\ud83d\ude00", "\U0001f600"),
        ("x" * TEXT_LIMIT, "x" * TEXT_LIMIT),
    ],
)
def test_text_is_changed_only_if_a_ledger_cannot_store_it(text: str, kept: str) -> None:
    assert clip(text) == clip_or_none(text) == kept


def test_no_user_stays_no_user() -> None:
    assert clip_or_none(None) is None


def test_a_text_that_can_be_stored_is_the_same_object() -> None:
    text = "x" * TEXT_LIMIT
    assert clip(text) is text


def test_long_texts_stay_different() -> None:
    one, other = clip("x" * 1000 + "a"), clip("x" * 1000 + "b")
    assert len(one) == len(other) == TEXT_LIMIT
    assert one[:200] == other[:200]
    assert one != other
