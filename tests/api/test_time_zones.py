"""Local days over a real ledger: each request is in exactly one, and they add up to the range."""

from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.api.usage_site import DAY_S, HOUR_S, MIDNIGHT_S, Site, at, spans, tokens

HOUR: dict[str, Any] = {"start_time": MIDNIGHT_S, "end_time": MIDNIGHT_S + HOUR_S}


@pytest.mark.parametrize(
    "zone", ["Asia/Kathmandu", "Asia/Kolkata", "America/Los_Angeles", "Australia/Lord_Howe"]
)
@pytest.mark.parametrize("group_by", ["model", "user_id"])  # rollups, entries
def test_local_days_add_up_to_the_range(each_site: Site, zone: str, group_by: str) -> None:
    """Six weeks, through a change of clocks in two of the zones."""
    start_s = int(datetime(2026, 9, 20, tzinfo=ZoneInfo(zone)).timestamp())
    end_s = int(datetime(2026, 11, 8, tzinfo=ZoneInfo(zone)).timestamp())
    times_s = range(start_s - 7 * HOUR_S, end_s + 7 * HOUR_S, 3 * HOUR_S + 1)
    each_site.post(*(at(time_s) for time_s in times_s))
    days = each_site.pages(
        start_time=start_s, end_time=end_s, timezone=zone, limit=31, group_by=group_by
    )
    expected: dict[date, int] = {}
    for time_s in times_s:
        if start_s <= time_s < end_s:
            day = datetime.fromtimestamp(time_s, ZoneInfo(zone)).date()
            expected[day] = expected.get(day, 0) + 5
    found = {
        datetime.fromtimestamp(it["start_time"], ZoneInfo(zone)).date(): tokens([it]) for it in days
    }
    assert found == expected


def test_an_evening_on_the_west_coast_is_in_its_own_day(each_site: Site) -> None:
    zone = ZoneInfo("America/Los_Angeles")
    evening = datetime(2026, 9, 1, 21, 30, tzinfo=zone)
    each_site.post(at(evening.timestamp()))
    midnight = evening.replace(hour=0, minute=0)
    today, tomorrow = each_site.page(
        start_time=int(midnight.timestamp()),
        end_time=int((midnight + timedelta(days=2)).timestamp()),
        timezone=zone.key,
    )["data"]
    assert (tokens([today]), tokens([tomorrow])) == (5, 0)


def test_local_hours_begin_when_local_clocks_say_so(each_site: Site) -> None:
    times_s = [MIDNIGHT_S + 15 * 60 - 1, MIDNIGHT_S + 15 * 60]  # a full hour in Kathmandu
    each_site.post(*map(at, times_s))
    query: dict[str, Any] = {
        "start_time": MIDNIGHT_S,
        "end_time": MIDNIGHT_S + HOUR_S,
        "bucket_width": "1h",
    }
    hours = each_site.page(**query, timezone="Asia/Kathmandu")["data"]
    assert [tokens([hour]) for hour in hours] == [5, 5]
    assert spans(hours)[1][0] == times_s[1]


def test_minutes_are_exact_to_the_second(each_site: Site) -> None:
    each_site.post(*(at(MIDNIGHT_S + s) for s in (0, 59.999, 60, 3_599)))
    query: dict[str, Any] = {
        "start_time": MIDNIGHT_S,
        "end_time": MIDNIGHT_S + HOUR_S,
        "bucket_width": "1m",
    }
    minutes = each_site.page(**query)["data"]
    assert len(minutes) == 60
    assert [i for i, it in enumerate(minutes) if it["results"]] == [0, 1, 59]
    assert [tokens([it]) for it in minutes[:2]] == [10, 5]


def test_a_cursor_serves_its_own_time_zone_alone(site: Site) -> None:
    query: dict[str, Any] = {"start_time": MIDNIGHT_S, "end_time": MIDNIGHT_S + 9 * DAY_S}
    page = site.page(**query, timezone="Asia/Kathmandu")
    again = site.page(**query, timezone="Asia/Kathmandu", page=page["next_page"])
    assert again["data"][0]["start_time"] == page["data"][-1]["end_time"]
    assert site.get({**query, "page": page["next_page"]}).status_code == 400
