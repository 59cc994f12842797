"""Latencies over a whole range, from computed hours and from entries."""

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Engine

from app.ledger import histogram
from app.ledger.latencies import compute_latencies
from app.ledger.posting import Ledger
from app.ledger.reports.latencies import LatencyReader, LatencyReport
from app.ledger.reports.query import UsageQuery
from app.ledger.retention import prune
from app.storage.sql.tables import DAY_S, HOUR_S, latency_hours
from tests.ledger.damage import change
from tests.ledger.ledgers import MIDNIGHT_S, at

WEEK = UsageQuery(MIDNIGHT_S, MIDNIGHT_S + 7 * DAY_S)
#: In the third day's seventh hour.
NOW_S = MIDNIGHT_S + 2 * DAY_S + 6 * HOUR_S + 600


def read(engine: Engine, query: UsageQuery, now_s: float = NOW_S) -> LatencyReport:
    report = LatencyReader(engine).read(query, now_s)
    assert report is not None
    return report


@pytest.fixture
def used(engine: Engine) -> Engine:
    """A ledger with a request in every half hour; the last two of them are not computed."""
    seconds = range(0, int(NOW_S) - MIDNIGHT_S, 1800)
    Ledger(engine).post(at(it, duration_ms=it // 1800) for it in seconds)
    compute_latencies(engine, NOW_S)
    return engine


@pytest.mark.parametrize(
    ("start_s", "end_s"),
    [
        (0, 7 * DAY_S),
        (0, HOUR_S),
        (5 * HOUR_S, DAY_S + HOUR_S),
        (DAY_S, 3 * DAY_S),
        (HOUR_S, DAY_S),
    ],
)
def test_every_request_of_the_range_is_counted_once(used: Engine, start_s: int, end_s: int) -> None:
    report = read(used, replace(WEEK, start_s=MIDNIGHT_S + start_s, end_s=MIDNIGHT_S + end_s))
    times = [it // 1800 for it in range(0, int(NOW_S) - MIDNIGHT_S, 1800) if start_s <= it < end_s]
    assert report.is_complete
    assert (report.requests, report.recorded, report.since_s) == (len(times), len(times), None)
    assert sum(row.duration for row in report.rows) == histogram.of(*times)


def test_a_range_is_widened_to_whole_hours(used: Engine) -> None:
    asked = replace(WEEK, start_s=MIDNIGHT_S + 1799, end_s=MIDNIGHT_S + HOUR_S + 1)
    report = read(used, asked)
    assert (report.start_s, report.end_s) == (MIDNIGHT_S, MIDNIGHT_S + 2 * HOUR_S)
    assert report.requests == 4


def test_hours_that_are_not_computed_are_said(used: Engine) -> None:
    change(used, latency_hours.delete())
    Ledger(used).post([at(-DAY_S), at(-DAY_S + 1)])
    report = read(used, replace(WEEK, start_s=MIDNIGHT_S - 2 * DAY_S))
    assert not report.is_complete
    assert report.recorded - report.requests == 2 + 1  # the last one is of an hour without a mark
    assert report.since_s == MIDNIGHT_S


def test_if_nothing_is_computed_the_last_hours_are_counted(engine: Engine) -> None:
    Ledger(engine).post([at(0), at(int(NOW_S) - MIDNIGHT_S - HOUR_S)])
    report = read(engine, WEEK)
    assert (report.requests, report.recorded) == (1, 2)
    assert report.since_s == int(NOW_S) // HOUR_S * HOUR_S - HOUR_S


@pytest.mark.parametrize("computed", [True, False])
@pytest.mark.parametrize(
    ("filters", "requests"),
    [
        ({"account_ids": frozenset({"beta"})}, 1),
        ({"account_ids": frozenset()}, 0),
        ({"api_key_ids": frozenset({"key_1"})}, 3),
        ({"vendors": frozenset({"vllm"})}, 1),
        ({"models": frozenset({"openai/m"})}, 2),
    ],
)
def test_filters_are_those_of_the_totals(
    engine: Engine, filters: dict[str, Any], requests: int, computed: bool
) -> None:
    Ledger(engine).post([at(0), at(1, account_id="beta"), at(2, vendor="vllm")])
    if computed:
        compute_latencies(engine, NOW_S)
    now_s = NOW_S if computed else MIDNIGHT_S + 60
    report = read(engine, replace(WEEK, **filters), now_s)
    assert (report.requests, report.recorded) == (requests, requests)


def test_rows_say_who_was_asked_who_served_and_how_it_ended(engine: Engine) -> None:
    Ledger(engine).post([at(0, vendor_served="groq"), at(1, status="failed", http_status=None)])
    compute_latencies(engine, NOW_S)
    rows = read(engine, WEEK).rows
    assert [(it.vendor, it.vendor_served, it.status, it.http_status) for it in rows] == [
        ("openai", "groq", "completed", 200),
        ("openai", "openai", "failed", None),
    ]


@pytest.mark.parametrize(
    ("filters", "times"),
    [
        ({"users": frozenset({"u"})}, (20, 30)),
        ({"endpoints": frozenset({"completions"})}, (10, 20)),
        ({"endpoints": frozenset({"chat.completions"})}, (30, 40)),
        ({"endpoints": frozenset({"chat.completions", "completions"})}, (10, 20, 30, 40)),
        ({"endpoints": frozenset({"chat.completions"}), "users": frozenset({"u"})}, (30,)),
        ({"endpoints": frozenset({"completions"}), "users": frozenset({"v"})}, ()),
    ],
)
def test_those_of_users_and_endpoints_are_counted_from_entries(
    engine: Engine, filters: dict[str, Any], times: tuple[int, ...]
) -> None:
    chat = {"endpoint": "chat.completions"}
    Ledger(engine).post(
        [
            at(0, duration_ms=10),
            at(DAY_S, duration_ms=20, user="u"),
            at(DAY_S + 1, duration_ms=30, user="u", **chat),
            at(2 * DAY_S, duration_ms=40, **chat),
        ]
    )
    compute_latencies(engine, NOW_S)
    report = read(engine, replace(WEEK, **filters))
    assert (report.requests, report.recorded, report.is_complete) == (len(times), len(times), True)
    assert sum(row.duration for row in report.rows) == histogram.of(*times)


def test_of_pruned_entries_no_endpoint_is_known(engine: Engine) -> None:
    Ledger(engine).post(
        at(it, endpoint="chat.completions") for it in (0, HOUR_S, DAY_S, DAY_S + HOUR_S)
    )
    compute_latencies(engine, NOW_S)
    assert sum(prune(engine, MIDNIGHT_S + DAY_S)) == 2
    chat = replace(WEEK, endpoints=frozenset({"chat.completions"}))
    report = read(engine, chat)
    assert (report.requests, report.recorded) == (2, 4)
    assert report.since_s == MIDNIGHT_S + DAY_S
    assert read(engine, WEEK).requests == 4


def test_a_range_with_too_many_entries_is_not_read_for_an_endpoint(
    used: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = replace(WEEK, endpoints=frozenset({"chat.completions"}))
    assert read(used, chat).rows == []
    monkeypatch.setattr("app.ledger.reports.latencies.ENTRIES_LIMIT", 3)
    assert LatencyReader(used).read(chat, NOW_S) is None
    assert LatencyReader(used).read(replace(chat, end_s=MIDNIGHT_S + HOUR_S), NOW_S) is not None
    assert read(used, WEEK).is_complete
