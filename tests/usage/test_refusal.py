"""Refusals as text in Redis."""

import pytest

from app.usage.refusal import Refusal

REFUSAL = Refusal(3600, "acme", "key_1", "completions", "invalid_json")


def test_a_refusal_survives_as_text() -> None:
    assert Refusal.decode(REFUSAL.encode()) == REFUSAL


@pytest.mark.parametrize("raw", [b"{}", b"[]", b'[1,"a"]', b'["1","","","",""]'])
def test_what_is_no_refusal_is_said(raw: bytes) -> None:
    with pytest.raises(ValueError, match="not a refusal of this version"):
        Refusal.decode(raw)


def test_beyond_the_limit_hour_and_endpoint_are_kept() -> None:
    assert REFUSAL.other == Refusal(3600, "", "", "completions", "other")
