"""Values at a path: what they must be, and that long lists let others run."""

import threading
from typing import Any

import pytest

from app.api.schemas.chat import checks
from app.vocabulary.errors import InvalidRequest


def test_an_error_begins_with_the_path() -> None:
    error = checks.wrong_value("messages[3].content", "must not be empty")
    assert str(error) == "`messages[3].content` must not be empty."
    assert (error.param, error.code) == ("messages[3].content", "invalid_value")


def test_null_is_absent() -> None:
    assert checks.optional_text({"a": None}, "a", "x") is None
    assert checks.optional_flag({}, "a", "x") is None
    with pytest.raises(InvalidRequest, match=r"`x\.a` is required"):
        checks.text({"a": None}, "a", "x")
    with pytest.raises(InvalidRequest, match=r"`x\.a` is required"):
        checks.mapping({}, "a", "x")


def test_an_object_without_nulls_is_the_same_object() -> None:
    whole = {"a": 1}
    assert checks.without_nulls(whole) is whole
    assert checks.without_nulls({"a": 1, "b": None}) == whole


def test_words_are_listed() -> None:
    with pytest.raises(InvalidRequest, match="must be one of low, high"):
        checks.word({"a": "mid"}, "a", "x", ("low", "high"))


def test_others_get_a_turn_in_long_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = threading.Semaphore(0)
    monkeypatch.setattr(checks, "give_turn", turns.release)
    values: list[dict[str, Any]] = [{}] * (2 * checks.ITEMS_AT_ONCE)
    paths = checks.objects(values, "a", len(values), lambda _, path: path)
    assert paths[-1] == f"a[{len(values) - 1}]"
    assert turns.acquire(blocking=False)
    assert turns.acquire(blocking=False)
    assert not turns.acquire(blocking=False)
