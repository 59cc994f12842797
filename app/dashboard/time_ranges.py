"""Ranges of time in a time zone, their buckets, and the range before. No I/O."""

import zoneinfo
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import cache
from zoneinfo import ZoneInfo

from app.ledger.reports.buckets import Bucket, buckets
from app.ledger.slots import DAY_S, HOUR_S, SLOT_S, floor_to
from app.vocabulary.errors import InvalidRequest

MINUTE_S = 60

#: Presets, in the order of the page: the value of `range` -> its name.
PRESETS: Mapping[str, str] = {
    "1h": "Last hour",
    "24h": "24 hours",
    "7d": "7 days",
    "30d": "30 days",
    "90d": "90 days",
    "month": "This month",
    "last-month": "Last month",
}
DEFAULT_PRESET, DEFAULT_DAYS = "30d", 30
DAYS_LIMIT = 366

#: The longest range of each bucket width, in seconds, the narrowest first; longer ones have days.
_WIDTHS = ((2 * HOUR_S, MINUTE_S), (12 * HOUR_S, SLOT_S), (3 * DAY_S, HOUR_S))
#: Ranges of more days than this are charted by week.
_DAYS_OF_DAILY_BUCKETS = 93


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A range in Unix seconds, `end_s` exclusive; `preset` is empty if the user chose the times.

    `zone` is where days begin and in which times are shown.
    """

    start_s: int
    end_s: int
    zone: tzinfo
    now_s: int
    preset: str = ""

    @property
    def width_s(self) -> int:
        """The width of the ledger's buckets, in seconds."""
        length_s = self.end_s - self.start_s
        return next((width for longest, width in _WIDTHS if length_s <= longest), DAY_S)

    @property
    def buckets(self) -> list[Bucket]:
        """The buckets of the range: minutes, quarters of an hour, hours, or local days."""
        return list(buckets(self.start_s, self.end_s, self.width_s, self.zone))

    @property
    def is_weekly(self) -> bool:
        """Whether charts add up seven days in a bar."""
        return self.end_s - self.start_s > _DAYS_OF_DAILY_BUCKETS * DAY_S

    @property
    def bars_s(self) -> list[int]:
        """The start of each bar of a chart, in Unix seconds."""
        return [it.start_s for it in self.buckets[:: 7 if self.is_weekly else 1]]

    @property
    def includes_now(self) -> bool:
        """Whether the range is still going on."""
        return self.start_s <= self.now_s < self.end_s

    @property
    def before(self) -> "TimeRange":
        """The range to compare with: as long as what has passed of this one.

        A month is compared with the same part of the month before, other ranges with the time that
        precedes them: whole days with as many days, also if the clocks change in between. Of a
        range that is going on, whole slots are compared, which rollups have.
        """
        if not self.preset and (days := self._past_days):
            start_s = midnight_s(self._first_day - timedelta(days=days), self.zone)
            return TimeRange(start_s, self.start_s, self.zone, self.now_s)
        passed_s = min(self.end_s, max(self.start_s, self.now_s)) - self.start_s
        if self.start_s + passed_s < self.end_s and self.width_s > MINUTE_S:
            passed_s = floor_to(passed_s, SLOT_S)
        start_s = self.start_s - passed_s
        if self.preset in ("month", "last-month"):
            start_s = midnight_s(_previous_month(self._first_day), self.zone)
        end_s = self.start_s if self.preset == "last-month" else start_s + passed_s
        return TimeRange(start_s, min(end_s, self.start_s), self.zone, self.now_s)

    @property
    def _first_day(self) -> date:
        return datetime.fromtimestamp(self.start_s, self.zone).date()

    @property
    def _past_days(self) -> int:
        """The number of days of a range of whole days that is over; 0 for others."""
        first, end = self._first_day, datetime.fromtimestamp(self.end_s, self.zone).date()
        bounds_s = (midnight_s(first, self.zone), midnight_s(end, self.zone))
        is_whole = bounds_s == (self.start_s, self.end_s) and self.end_s <= self.now_s
        return (end - first).days if is_whole else 0


def preset_range(preset: str, zone: tzinfo, now_s: int) -> TimeRange:
    """Return the range of a preset; hours are rolling, and days are the zone's.

    Raises: InvalidRequest.
    """
    if preset not in PRESETS:
        raise InvalidRequest(f"`range` must be one of {', '.join(PRESETS)}.", param="range")
    today = datetime.fromtimestamp(now_s, zone).date()
    tomorrow_s = midnight_s(today + timedelta(days=1), zone)
    match preset:
        case "1h":
            end_s = floor_to(now_s, MINUTE_S) + MINUTE_S
            start_s = end_s - HOUR_S
        case "24h":
            end_s = floor_to(now_s, HOUR_S) + HOUR_S
            start_s = end_s - DAY_S
        case "month":
            start_s = midnight_s(today.replace(day=1), zone)
            end_s = tomorrow_s
        case "last-month":
            start_s = midnight_s(_previous_month(today), zone)
            end_s = midnight_s(today.replace(day=1), zone)
        case _:
            days = int(preset.removesuffix("d"))
            start_s, end_s = midnight_s(today - timedelta(days=days - 1), zone), tomorrow_s
    return TimeRange(start_s, end_s, zone, now_s, preset)


def own_range(since: str, until: str, zone: tzinfo, now_s: int) -> TimeRange:
    """Return the range from `since` to `until`, by the clocks of `zone`.

    Both are days or minutes; a day as the end is included. Without `until`, the range ends today;
    without `since`, it has DEFAULT_DAYS days.
    Raises: InvalidRequest.
    """
    tomorrow = datetime.fromtimestamp(now_s, zone).date() + timedelta(days=1)
    end_s = _instant(until, "until", zone, is_end=True) if until else midnight_s(tomorrow, zone)
    last_day = datetime.fromtimestamp(end_s - 1, zone).date()
    first_s = midnight_s(last_day - timedelta(days=DEFAULT_DAYS - 1), zone)
    start_s = _instant(since, "since", zone) if since else first_s
    if not 0 < end_s - start_s <= DAYS_LIMIT * DAY_S + HOUR_S:
        raise InvalidRequest(
            f"The range {since or '(open)'} to {until or 'now'} is invalid. The end must come after"
            f" the start, by at most {DAYS_LIMIT} days.",
            param="until",
        )
    return TimeRange(start_s, end_s, zone, now_s)


def find_zone(name: str) -> tzinfo:
    """Return the time zone of an IANA name.

    Raises: InvalidRequest.
    """
    if name == "UTC":
        return UTC
    if name not in zone_names():
        raise InvalidRequest(
            "`zone` must be a name of the IANA time zone database, for example `Europe/Berlin`.",
            param="zone",
        )
    return ZoneInfo(name)


@cache
def zone_names() -> tuple[str, ...]:
    """Return the IANA names of regions and places, and `UTC`, in alphabetical order."""
    names = (it for it in zoneinfo.available_timezones() if "/" in it)
    return ("UTC", *sorted(it for it in names if not it.startswith(("Etc/", "SystemV/", "US/"))))


def midnight_s(day: date, zone: tzinfo) -> int:
    """Return the first instant of a day, in Unix seconds."""
    return int(datetime.combine(day, time(), zone).timestamp())


def _previous_month(day: date) -> date:
    return (day.replace(day=1) - timedelta(days=1)).replace(day=1)


def _instant(text: str, name: str, zone: tzinfo, *, is_end: bool = False) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as exc:
        raise InvalidRequest(
            f"`{name}` must be a day or a time such as 2026-11-29 or 2026-11-29T14:05.", param=name
        ) from exc
    if not 1970 < moment.year < 9999:
        raise InvalidRequest(f"`{name}` must be from 1971 to 9998.", param=name)
    if moment.tzinfo is not None:
        return int(moment.timestamp())
    if "T" not in text and " " not in text:
        return midnight_s(moment.date() + timedelta(days=is_end), zone)
    return int(moment.replace(tzinfo=zone).timestamp())
