"""Reads durations and times from forms. No I/O."""

import re
from datetime import UTC, datetime, timedelta

from app.accounts.apikey import check_expiry
from app.accounts.errors import AccountsError

_SPAN = re.compile(r"([0-9]{1,4})([dh])")


def read_expiry(text: str, now_ms: int) -> int | None:
    """Return the time in Unix milliseconds that `90d`, `12h` or a date or time says; None if empty.

    A time without a zone is in UTC.
    Raises: AccountsError.
    """
    if not text:
        return None
    now = datetime.fromtimestamp(now_ms / 1000, UTC)
    try:
        span = _span(text)
        ends = now + span if span else _iso(text)
    except (ValueError, OverflowError):
        raise AccountsError(
            f"{text[:40]!r} is neither a duration (90d, 12h) nor a date or time in UTC (2027-01-31,"
            " 2027-01-31T15:30)."
        ) from None
    if ends <= now:
        raise AccountsError("This time has passed. Choose a later one.")
    expires_at_ms = int(ends.timestamp() * 1000)
    check_expiry(expires_at_ms)
    return expires_at_ms


def read_span_s(text: str) -> float | None:
    """Return the seconds that `24h` or `7d` says; None if it is empty.

    Raises: AccountsError.
    """
    if not text:
        return None
    span = _span(text)
    if not span:
        raise AccountsError(f"{text[:40]!r} is not a duration, such as 24h or 7d.")
    return span.total_seconds()


def _span(text: str) -> timedelta | None:
    found = _SPAN.fullmatch(text)
    if found is None:
        return None
    return timedelta(**{"days" if found[2] == "d" else "hours": int(found[1])})


def _iso(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found
