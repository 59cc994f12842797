"""Durations and times in forms."""

import pytest

from app.accounts.apikey import EXPIRY_LIMIT_MS
from app.accounts.errors import AccountsError
from app.dashboard.admin.durations import read_expiry, read_span_s

NOW_MS = 1_780_000_000_000
DAY_MS = 86_400_000


def test_an_expiry_is_a_duration_or_a_time_in_utc() -> None:
    assert read_expiry("", NOW_MS) is None
    assert read_expiry("90d", NOW_MS) == NOW_MS + 90 * DAY_MS
    assert read_expiry("2099-01-02T03:04", NOW_MS) == 4_071_006_240_000
    assert read_expiry("2099-01-02T04:04+01:00", NOW_MS) == 4_071_006_240_000
    for wrong in ("soon", "2020-01-01", "0d", "90", "9999-99-99"):
        with pytest.raises(AccountsError):
            read_expiry(wrong, NOW_MS)


def test_an_expiry_is_a_time_that_every_zone_has() -> None:
    assert read_expiry("9999-12-31", NOW_MS) == EXPIRY_LIMIT_MS
    for late in ("9999-12-31T00:00:01", "9999-12-31T23:59-14:00"):
        with pytest.raises(AccountsError, match="9999-12-31"):
            read_expiry(late, NOW_MS)


def test_a_span_is_in_hours_or_days() -> None:
    assert (read_span_s(""), read_span_s("24h"), read_span_s("7d")) == (None, 86_400, 604_800)
    for wrong in ("0h", "7", "2026-01-01"):
        with pytest.raises(AccountsError, match="24h"):
            read_span_s(wrong)
