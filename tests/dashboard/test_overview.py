"""The overview of a known ledger: totals, charts, latencies, backlog, and who sees what."""

import re
import time
from dataclasses import replace

import pytest

from app.ledger.latencies import compute_latencies
from app.settings import Settings
from app.storage.redis.connection import connect
from app.usage.missing import Missing, Search
from app.usage.redis.processes import Processes
from app.usage.redis.stream import EventStream
from tests.dashboard.site import DashboardSite, at, make_site, shown, table
from tests.support.events import usage_event


def test_an_admin_sees_the_sums_of_all_accounts(site: DashboardSite) -> None:
    site.sign_in("admin")
    page = site.page()
    assert shown(page, "requests") == "4"
    assert shown(page, "failed") == "1"
    assert shown(page, "prompt-tokens") == "1,303"
    assert shown(page, "completion-tokens") == "247"
    assert shown(page, "cost") == "$1.41 +"
    assert "1 requests without a price" in page
    sums = table(page, "groups")
    assert [row[:8] for row in sums] == [
        ["openai/gpt-4o-mini", "2", "0", "1,003", "0", "202", "0", "1,205"],
        ["anthropic/claude-haiku-4-5", "2", "1", "300", "0", "45", "0", "345"],
        ["Total", "4", "1", "1,303", "0", "247", "0", "1,550"],
    ]
    assert [row[-1] for row in sums] == ["$1.41", "unknown", "$1.41 +"]


@pytest.mark.parametrize(
    ("query", "sums"),
    [
        ({"by": "account"}, {"acme": "1,545", "beta": "5"}),
        ({"by": "vendor"}, {"openai": "1,205", "anthropic": "345"}),
        ({"account": "beta"}, {"openai/gpt-4o-mini": "5"}),
        ({"vendor": "anthropic", "by": "account"}, {"acme": "345"}),
        ({"model": "openai/gpt-4o-mini", "by": "account"}, {"acme": "1,200", "beta": "5"}),
        ({"until": "2026-09-01"}, {"openai/gpt-4o-mini": "1,200"}),
    ],
)
def test_filters_say_what_is_summed(
    site: DashboardSite, query: dict[str, str], sums: dict[str, str]
) -> None:
    site.sign_in("admin")
    rows = table(site.page(**query), "groups")[:-1]
    assert {row[0]: row[7] for row in rows} == sums


def test_the_figures_over_time_add_up_and_keep_empty_days(site: DashboardSite) -> None:
    site.sign_in("admin")
    page = site.page()
    charts = re.findall(r'<table class="series" data-unit="(\w+)".*?</table>', page)
    assert charts == ["tokens", "usd", "requests"]
    tokens = page.partition('data-unit="tokens"')[2].partition("</table>")[0]
    assert tokens.count("<tr>") == 1 + 30
    values = [int(number) for number in re.findall(r'data-value="(\d+)"', tokens)]
    assert values[:4] == [1200, 0, 5, 345]
    assert sum(values) == 1550


def test_one_or_two_days_are_cut_into_hours(site: DashboardSite) -> None:
    site.sign_in("admin")
    page = site.page(until="2026-09-02", by="account")
    tokens = page.partition('data-unit="tokens"')[2].partition("</table>")[0]
    assert tokens.count("<tr>") == 1 + 48
    assert "2026-09-02 01:00" in tokens


def test_a_usage_key_sees_its_own_accounts_alone(site: DashboardSite) -> None:
    site.sign_in("usage")
    page = site.page(by="account")
    assert [row[0] for row in table(page, "groups")] == ["acme", "Total"]
    assert "Backlog" not in page
    assert "beta" not in page
    assert "beta" not in site.page("/requests")
    accounts = site.page("/accounts")
    assert "beta" not in accounts
    assert [row[0] for row in table(accounts, "accounts")] == ["acme"]
    rows = {row[1]: row[3] for row in table(accounts, "keys")}
    assert rows == {"report": "acme", "production": "acme"}


@pytest.mark.parametrize("page", ["", "/requests"])
def test_another_account_is_refused(site: DashboardSite, page: str) -> None:
    site.sign_in("usage")
    answer = site.get(page, account="beta")
    assert answer.status_code == 403
    assert "req_of_beta" not in answer.text


def test_an_empty_ledger_says_so(site: DashboardSite) -> None:
    site.sign_in("admin")
    page = site.page(since="2026-01-01", until="2026-01-31")
    assert "No usage is recorded" in page
    assert shown(page, "requests") == "0"
    assert "No requests are recorded" in site.page(
        "/requests", since="2026-01-01", until="2026-01-31"
    )


def test_errors_and_latencies_are_told_by_vendor(site: DashboardSite) -> None:
    slow = {"first_token_ms": 1500, "duration_ms": 90_000, "vendor_served": "groq"}
    site.post(at(5, **slow), at(6, status="disconnected", duration_ms=1, first_token_ms=None))
    site.sign_in("admin")
    assert re.search(r"0 of the 6 requests of this range", site.page())
    compute_latencies(site.engine, time.time())
    page = site.page()
    assert "All 6 requests of this range" in page
    assert table(page, "latencies") == [
        ["all", "6", "1 (16.7 %)", "1", "41 ms / 1.5 s", "90 ms / 1 min 28 s"],
        ["anthropic", "2", "1 (50 %)", "0", "41 ms / 41 ms", "90 ms / 90 ms"],
        ["groq", "1", "0 (0 %)", "0", "1.5 s / 1.5 s", "1 min 28 s / 1 min 28 s"],
        ["openai", "3", "0 (0 %)", "1", "41 ms / 41 ms", "90 ms / 90 ms"],
    ]
    assert table(page, "failures") == [
        ["anthropic", "failed", "503", "1"],
        ["openai", "disconnected", "200", "1"],
    ]
    assert shown(page, "first-token") == "41 ms"


def test_many_groups_are_summed_up_in_the_last_series(site: DashboardSite) -> None:
    site.post(*(at(i, model=f"m{i:03}", total_tokens=1000 + i) for i in range(120)))
    site.sign_in("admin")
    page = site.page(vendor="openai")
    rows = table(page, "groups")
    assert len(rows) == 100 + 1 + 1
    assert rows[-2][0] == "21 others"
    assert int(rows[-2][1]) + sum(int(row[1]) for row in rows[:-2]) == int(rows[-1][1])
    heads = re.findall(r'data-series="(\w*)">([^<]*)<', page)[:8]
    assert heads[0] == ("", "openai/gpt-4o-mini")
    assert heads[-1] == ("rest", "other")
    tokens = page.partition('data-unit="tokens"')[2].partition("</table>")[0]
    sums = sum(int(number) for number in re.findall(r'data-value="(\d+)"', tokens))
    assert sums == 1205 + sum(1000 + i for i in range(120))


def test_an_admin_sees_what_waits(site: DashboardSite, settings: Settings) -> None:
    stream = EventStream(connect(settings.redis_url, 5.0))
    stream.publish(usage_event())
    stream.publish(usage_event())
    Processes(connect(settings.redis_url, 5.0)).store({}, Search(time.time_ns() // 1_000_000))
    site.sign_in("admin")
    page = site.page()
    assert shown(page, "backlog") == "2"
    assert re.search(r"before \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC is counted", page)
    assert "oldest" in page


def test_an_admin_sees_whose_usage_is_missing_and_since_when(
    site: DashboardSite, settings: Settings
) -> None:
    gap = Missing("web-1", 3, 4, 1_780_000_000_000, 1_780_000_060_000, found_ms=1)
    search = Search(time.time_ns() // 1_000_000, (gap,))
    Processes(connect(settings.redis_url, 5.0)).store({}, search)
    site.sign_in("admin")
    page = site.page()
    assert shown(page, "missing") == "2 missing"
    assert table(page, "gaps") == [["web-1", "2", "2026-05-28 20:26:40", "2026-05-28 20:27:40"]]
    site.sign_in("usage")
    assert "missing" not in site.page()


def test_without_redis_the_ledgers_pages_are_there(settings: Settings) -> None:
    away = replace(settings, redis_url="redis://127.0.0.1:1/0", redis_timeout_s=0.1)
    site = make_site(away)
    try:
        site.sign_in("admin")
        page = site.page()
        assert shown(page, "requests") == "4"
        assert "Redis is unavailable: the latest requests may be missing" in page
    finally:
        site.close()
