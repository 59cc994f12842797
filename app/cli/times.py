"""Parses times on the command line: `30d`, `12h`, `90m`, or an ISO date or time in UTC."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import click

_SPAN = re.compile(r"([0-9]{1,6})([dhm])")
_UNITS: Mapping[str, str] = {"d": "days", "h": "hours", "m": "minutes"}


class Moment(click.ParamType[datetime]):
    """A duration before now (or after it, with `future`), or an ISO 8601 date or time.

    A time without a zone is UTC; a date is its midnight.
    """

    name = "time"

    def __init__(self, *, future: bool = False) -> None:
        self.sign = 1 if future else -1

    def convert(
        self,
        value: str | datetime,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> datetime:
        if isinstance(value, datetime):
            return value
        try:
            return self._span(value) or _iso(value)
        except (ValueError, OverflowError):
            self.fail(
                f"must be a duration (30d, 12h, 90m) or an ISO date or time"
                f" (2026-11-29, 2026-11-29T15:30), not {value!r}",
                param,
                ctx,
            )

    def _span(self, text: str) -> datetime | None:
        match = _SPAN.fullmatch(text)
        if match is None:
            return None
        count, unit = match.groups()
        return datetime.now(UTC) + self.sign * timedelta(**{_UNITS[unit]: int(count)})


class Span(click.ParamType[timedelta]):
    """A duration of at least a minute."""

    name = "duration"

    def convert(
        self, value: str | timedelta, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        if isinstance(value, timedelta):
            return value
        match = _SPAN.fullmatch(value)
        span = timedelta(**{_UNITS[match[2]]: int(match[1])}) if match else timedelta()
        if not span:
            self.fail(f"must be a duration (7d, 24h, 90m), not {value!r}", param, ctx)
        return span


def _iso(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC)


def show_time(unix_ms: int) -> str:
    """Return a time in Unix milliseconds as ISO 8601 in UTC, to the second."""
    return datetime.fromtimestamp(unix_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
