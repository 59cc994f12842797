"""Parses times on the command line: `30d`, `12h`, `90m`, or an ISO date or time; and time zones."""

import math
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, available_timezones

import click

from app.vocabulary.suggestion import did_you_mean

_SPAN = re.compile(r"([0-9]{1,6})([dhm])")
#: Other times would overflow in a time zone, or at the end of their day.
YEARS = range(2, 9999)
_UNITS: Mapping[str, str] = {"d": "days", "h": "hours", "m": "minutes"}


class Moment(click.ParamType[datetime]):
    """A duration before now (or after it, with `future`), or an ISO 8601 date or time.

    A time without a zone is UTC; a date is its midnight. With `local`, it has no zone, and the
    command gives it one (`in_zone`).
    """

    name = "time"

    def __init__(self, *, future: bool = False, local: bool = False) -> None:
        self.sign = 1 if future else -1
        self.local = local

    def convert(
        self,
        value: str | datetime,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> datetime:
        if isinstance(value, datetime):
            return value
        try:
            moment = self._span(value) or _iso(value, None if self.local else UTC)
        except (ValueError, OverflowError):
            moment = None
        if moment is None or moment.year not in YEARS:
            self.fail(
                f"must be a duration (30d, 12h, 90m) or an ISO date or time"
                f" (2026-11-29, 2026-11-29T15:30) in the years {YEARS[0]} to {YEARS[-1]},"
                f" not {value!r}",
                param,
                ctx,
            )
        return moment

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


def _iso(text: str, zone: tzinfo | None) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        return moment.replace(tzinfo=zone)
    return moment.astimezone(UTC)


def in_zone(moment: datetime, zone: tzinfo) -> datetime:
    """Return a moment whose clock is that of `zone`, if it has no zone of its own."""
    return moment.replace(tzinfo=zone) if moment.tzinfo is None else moment


class Zone(click.ParamType[tzinfo]):
    """The name of a time zone in the IANA database."""

    name = "zone"

    def convert(
        self, value: str | tzinfo, param: click.Parameter | None, ctx: click.Context | None
    ) -> tzinfo:
        """Return the zone; UTC itself for `UTC`."""
        if isinstance(value, tzinfo):
            return value
        if value == "UTC":
            return UTC
        # ZoneInfo would treat any text as a path, and not every file there is a zone.
        if value not in available_timezones():
            hint = did_you_mean(value, available_timezones())
            self.fail(
                f"must be the name of a time zone, such as Europe/Zurich, not {value!r}.{hint}",
                param,
                ctx,
            )
        return ZoneInfo(value)


def show_time(unix_ms: int) -> str:
    """Return a time in Unix milliseconds as ISO 8601 in UTC, to the second."""
    return datetime.fromtimestamp(unix_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def show_local(unix_s: int, zone: tzinfo) -> str:
    """Return a time in Unix seconds as ISO 8601 in a time zone, with its offset; `Z` for UTC."""
    if zone is UTC:
        return show_time(unix_s * 1000)
    return datetime.fromtimestamp(unix_s, zone).isoformat()


def range_ms(since: datetime, until: datetime | None) -> tuple[int, int]:
    """Return the range of `--since` and `--until` in Unix milliseconds; no end means now.

    Raises: UsageError if the range is empty.
    """
    end_s = time.time() if until is None else until.timestamp()
    start_ms, end_ms = math.floor(since.timestamp() * 1000), math.ceil(end_s * 1000)
    if start_ms >= end_ms:
        raise click.UsageError("--since must be before --until")
    return start_ms, end_ms
