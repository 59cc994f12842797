"""Times on the command line."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import click
import pytest

from app.cli.times import Moment, Span, Zone, in_zone, range_ms, show_local, show_time


def parse(text: str, *, future: bool = False) -> datetime:
    """Parse a time."""
    return Moment(future=future).convert(text, None, None)


@pytest.mark.parametrize(
    ("text", "duration"),
    [("30d", timedelta(days=30)), ("12h", timedelta(hours=12)), ("90m", timedelta(minutes=90))],
)
def test_a_duration_counts_from_now(text: str, duration: timedelta) -> None:
    before = datetime.now(UTC)
    past, future = parse(text), parse(text, future=True)
    after = datetime.now(UTC)
    assert before <= past + duration <= after
    assert before <= future - duration <= after


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-29", datetime(2026, 11, 29, tzinfo=UTC)),
        ("2026-11-29T15:30", datetime(2026, 11, 29, 15, 30, tzinfo=UTC)),
        ("2026-11-29T15:30+02:00", datetime(2026, 11, 29, 13, 30, tzinfo=UTC)),
        ("2026-11-29T15:30Z", datetime(2026, 11, 29, 15, 30, tzinfo=UTC)),
    ],
)
def test_a_time_is_utc_unless_it_names_a_zone(text: str, moment: datetime) -> None:
    assert parse(text) == moment


@pytest.mark.parametrize(
    "text",
    [
        *("", "soon", "5", "-5d", "5w", "9999999d", "999999d", "2026-13-01"),
        *("0001-01-01", "9999-12-31", "9999-12-31T23:59:59.999999+00:00"),
    ],
)
def test_anything_else_is_rejected_with_examples(text: str) -> None:
    with pytest.raises(click.BadParameter, match="30d, 12h, 90m") as caught:
        parse(text)
    assert repr(text) in caught.value.message


def test_a_parsed_time_stays_as_it_is_and_is_shown_to_the_second() -> None:
    moment = datetime(2026, 11, 29, tzinfo=UTC)
    assert Moment().convert(moment, None, None) is moment
    assert show_time(1_788_220_800_999) == "2026-09-01T00:00:00Z"


def test_a_local_time_gets_its_zone_from_the_command() -> None:
    zurich = ZoneInfo("Europe/Zurich")
    local = Moment(local=True)
    at = in_zone(local.convert("2026-11-29T15:30", None, None), zurich)
    assert at == datetime(2026, 11, 29, 14, 30, tzinfo=UTC)
    at = in_zone(local.convert("2026-11-29T15:30Z", None, None), zurich)
    assert at == datetime(2026, 11, 29, 15, 30, tzinfo=UTC)
    assert local.convert("30d", None, None).tzinfo is UTC
    assert show_local(int(at.timestamp()), zurich) == "2026-11-29T16:30:00+01:00"
    assert show_local(int(at.timestamp()), UTC) == "2026-11-29T15:30:00Z"


def test_a_zone_is_one_of_the_iana_database() -> None:
    assert Zone().convert("UTC", None, None) is UTC
    assert Zone().convert("Asia/Kathmandu", None, None) == ZoneInfo("Asia/Kathmandu")
    for text in ("", "Zurich", "Europe", "../UTC", "tzdata.zi"):
        with pytest.raises(click.BadParameter, match="Europe/Zurich"):
            Zone().convert(text, None, None)
    with pytest.raises(click.BadParameter, match="Did you mean `Asia/Tokyo`"):
        Zone().convert("asia/tokio", None, None)


def test_a_range_is_not_empty() -> None:
    at = datetime(2026, 11, 29, tzinfo=UTC)
    ms = int(at.timestamp()) * 1000
    assert range_ms(at, at + timedelta(seconds=1.5)) == (ms, ms + 1_500)
    assert range_ms(at - timedelta(days=9000), None)[1] > 0
    with pytest.raises(click.UsageError, match="before --until"):
        range_ms(at, at)


def test_a_span_is_a_duration_of_at_least_a_minute() -> None:
    assert Span().convert("90m", None, None) == timedelta(minutes=90)
    assert Span().convert(timedelta(1), None, None) == timedelta(1)
    for wrong in ("0d", "90", "2026-11-29", "", "-1h"):
        with pytest.raises(click.BadParameter):
            Span().convert(wrong, None, None)
