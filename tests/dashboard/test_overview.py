"""The overview of a known ledger: totals, charts, latencies, backlog, and who sees what."""

import csv
import io
import re
import time
from dataclasses import replace

import pytest

from app.ledger.latencies import compute_latencies
from app.ledger.refusals import post_refusals
from app.settings import Settings
from app.storage.redis.connection import connect
from app.usage.missing import Missing, Search
from app.usage.redis.processes import Processes
from app.usage.redis.stream import EventStream
from app.usage.refusal import Refusal
from app.vocabulary.money import NANO
from tests.dashboard.site import MIDNIGHT_S, DashboardSite, at, make_site, plain, shown, table
from tests.support.events import usage_event


def test_an_admin_sees_the_sums_of_all_accounts(site: DashboardSite) -> None:
    site.sign_in("admin")
    page = site.page()
    assert shown(page, "requests") == "4"
    assert shown(page, "failed") == "1"
    assert shown(page, "prompt-tokens") == "1,303"
    assert shown(page, "completion-tokens") == "247"
    assert shown(page, "cost") == "$1.41 +"
    assert "1 without a price" in page
    assert table(page, "groups") == [
        ["openai/gpt-4o-mini", "2", "1,205", "1,003", "202", "$1.41 new"],
        ["anthropic/claude-haiku-4-5", "2 1 failed", "345", "300", "45", "unknown"],
        ["Total", "4 1 failed", "1,550", "1,303", "247", "$1.41 + new"],
    ]


@pytest.mark.parametrize(
    ("query", "sums"),
    [
        ({"by": "account"}, {"acme The acme team": "1,545", "beta The beta team": "5"}),
        ({"by": "user"}, {"(none)": "1,550"}),
        ({"by": "status"}, {"completed": "1,550", "failed": "0"}),
        ({"status": "failed"}, {"anthropic/claude-haiku-4-5": "0"}),
        ({"key": "nobody's"}, {}),
        ({"by": "vendor"}, {"openai": "1,205", "anthropic": "345"}),
        ({"account": "beta"}, {"openai/gpt-4o-mini": "5"}),
        ({"vendor": "anthropic", "by": "account"}, {"acme The acme team": "345"}),
        (
            {"model": "openai/gpt-4o-mini", "by": "account"},
            {"acme The acme team": "1,200", "beta The beta team": "5"},
        ),
        ({"until": "2026-09-01"}, {"openai/gpt-4o-mini": "1,200"}),
    ],
)
def test_filters_say_what_is_summed(
    site: DashboardSite, query: dict[str, str], sums: dict[str, str]
) -> None:
    site.sign_in("admin")
    page = site.page(**query)
    rows = table(page, "groups")[:-1] if sums else []
    assert {row[0]: row[2] for row in rows} == sums


def test_usage_may_be_by_endpoint_or_of_one(site: DashboardSite) -> None:
    site.post(at(1, endpoint="chat.completions", prompt_tokens=7, total_tokens=9))
    site.sign_in("admin")
    rows = table(site.page(by="endpoint"), "groups")
    assert [(row[0], row[2]) for row in rows[:-1]] == [
        ("completions", "1,550"),
        ("chat.completions", "9"),
    ]
    page = site.page(endpoint="chat.completions", by="account")
    assert [row[2] for row in table(page, "groups")[:-1]] == ["9"]
    assert [row[1] for row in table(page, "latencies")] == ["1"]


def test_latencies_of_an_endpoint_are_for_ranges_with_few_requests(
    site: DashboardSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.ledger.reports.latencies.ENTRIES_LIMIT", 1)
    site.sign_in("admin")
    assert "Choose a shorter range, or remove the filter." in site.page(endpoint="completions")
    assert "Choose a shorter range" not in site.page()


def values(page: str, chart: str) -> list[int]:
    """The totals of a chart's bars, from its table."""
    return [int(it) for it in re.findall(r'data-value="(\d+)"', bars_table(page, chart))]


def bars_table(page: str, chart: str) -> str:
    return page.partition(f'id="{chart}-series"')[2].partition("</table>")[0]


def test_the_figures_over_time_add_up_and_keep_empty_days(site: DashboardSite) -> None:
    site.sign_in("admin")
    page = site.page()
    assert values(page, "tokens") == [1200, 350, *[0] * 28]
    assert values(page, "requests") == [1, 3, *[0] * 28]
    assert values(page, "failed") == [0, 1, *[0] * 28]
    assert sum(values(page, "cost")) == 1_407_000_000
    assert "openai/gpt-4o-mini 5" in plain(bars_table(page, "tokens"))


@pytest.mark.parametrize(
    ("since", "until", "bars"),
    [
        ("2026-09-01", "2026-09-03", 72),
        ("2026-09-01T00:00", "2026-09-01T12:00", 48),
        ("2026-09-01T00:30", "2026-09-01T01:30", 60),
        ("2026-08-01", "2026-12-31", 22),
    ],
)
def test_short_ranges_have_narrow_bars_and_long_ones_wide_bars(
    site: DashboardSite, since: str, until: str, bars: int
) -> None:
    site.sign_in("admin")
    page = site.page(since=since, until=until, status="completed")
    if bars != 60:  # the hour in which nothing happened
        assert len(values(page, "tokens")) == bars
    else:
        assert "No usage is recorded" in page


def test_days_are_those_of_the_chosen_zone(site: DashboardSite) -> None:
    site.sign_in("admin")
    page = site.page(zone="America/Los_Angeles")
    # The first request began at one minute past midnight UTC, on the last of August there.
    assert shown(page, "requests") == "3"
    assert values(page, "tokens")[0] == 350
    assert "2026-09-01" in plain(bars_table(page, "tokens"))
    assert site.get(zone="Mars/Olympus").status_code == 400


def test_figures_are_compared_with_the_period_before(site: DashboardSite) -> None:
    site.post(*(at(-i * 3600 - 1, vendor="openai", model="gpt-4o-mini") for i in range(3)))
    site.sign_in("admin")
    page = site.page(until="2026-09-01")
    assert shown(page, "requests") == "1"
    assert re.search(r"\N{MINUS SIGN}67 %</span> <span class=\"nowrap\">from 3<", page)
    assert 'compared with <span class="nowrap">2026-08-31</span>.' in page


def test_the_failures_chart_is_ranked_by_failures(site: DashboardSite) -> None:
    busy = [at(i, model=f"busy-{i % 9}", total_tokens=10_000) for i in range(90)]
    site.post(*busy, *(at(i, model="broken", status="failed", total_tokens=0) for i in range(5)))
    site.sign_in("admin")
    failed = site.page().partition('id="failed-title"')[2].partition("</section>")[0]
    assert re.findall(r'<li title="([^"]*)"', failed) == [
        "openai/broken",
        "anthropic/claude-haiku-4-5",
    ]


def lines(site: DashboardSite, page: str = "", **query: str) -> list[list[str]]:
    """The lines of a CSV file."""
    answer = site.get(page, **query)
    assert answer.mimetype == "text/csv"
    assert "attachment" in answer.headers["content-disposition"]
    return list(csv.reader(io.StringIO(answer.text.removeprefix("\ufeff"))))


def test_csv_files_have_what_is_on_the_screen(site: DashboardSite) -> None:
    site.sign_in("admin")
    head, *rows = lines(site, csv="totals", account="acme")
    assert [row[0] for row in rows] == ["openai/gpt-4o-mini", "anthropic/claude-haiku-4-5", "Total"]
    total = dict(zip(head, rows[-1], strict=True))
    assert (total["requests"], total["failed_requests"], total["cost_usd"]) == ("3", "1", "1.4")
    head, *rows = lines(site, csv="series", zone="Europe/Berlin", by="account")
    assert rows[0][:3] == ["2026-09-01T00:00:00+02:00", "acme", "1"]
    assert [row[1] for row in rows] == ["acme", "acme", "beta"]
    head, *rows = lines(site, "/requests", csv="list", status="failed")
    assert [dict(zip(head, row, strict=True))["http_status"] for row in rows] == ["503"]
    head, *rows = lines(site, "/admin/audit", csv="list", account="acme")
    assert [row[3] for row in rows if row[4] == "acme"] == ["key.create", "account.create"]
    assert site.get(csv="everything").status_code == 400


def test_refused_requests_are_a_file_with_every_line(site: DashboardSite) -> None:
    counts = {Refusal(MIDNIGHT_S, "acme", f"key_{n}", "completions", "x"): n for n in range(1, 30)}
    counts |= {Refusal(MIDNIGHT_S, "beta", "", "completions", "=1+1"): 99}
    post_refusals(site.engine, "b", counts, 0)
    site.sign_in("usage")
    assert "csv=refusals" in site.page()
    head, *rows = lines(site, csv="refusals")
    assert head == ["reason", "account", "key", "refused_requests"]
    assert [row[2:] for row in rows] == [[f"key_{n}", str(n)] for n in range(29, 0, -1)]
    site.sign_in("admin")
    assert lines(site, csv="refusals")[1] == ["'=1+1", "beta", "", "99"]


def test_budgets_that_are_nearly_spent_come_first(site: DashboardSite) -> None:
    used = {"vendor": "openai", "model": "gpt-4o-mini", "started_at_ms": time.time_ns() // 10**6}
    site.post(usage_event(**used, account_id="acme", prompt_tokens=900, completion_tokens=0))
    site.accounts.set_limits("account", "acme", budget_nanousd=NANO)
    site.accounts.set_limits("account", "beta", budget_nanousd=0)
    site.accounts.set_limits("key", site.key_ids["usage"], soft_nanousd=NANO)
    site.sign_in("admin")
    page = site.page()
    assert [row[1:3] for row in table(page, "budgets")] == [
        ["over", "$0.00"],
        ["near", "$0.90"],
        ["ok", "$0.00"],
    ]
    assert "1 over, 1 near" in page
    site.sign_in("usage")
    assert [row[1] for row in table(site.page(), "budgets")] == ["near", "ok"]


def test_a_usage_key_sees_its_own_accounts_alone(site: DashboardSite) -> None:
    site.sign_in("usage")
    page = site.page(by="account")
    assert [row[0] for row in table(page, "groups")] == ["acme The acme team", "Total"]
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
    failures = [["anthropic", "failed", "503", "1"], ["openai", "disconnected", "200", "1"]]
    assert table(page, "failures") == lines(site, csv="failures")[1:] == failures
    head, of_all, *_ = lines(site, csv="latencies")
    assert head[3:6] == ["failed_over", "first_token_median_ms", "first_token_p95_ms"]
    assert of_all[:6] == ["all", "6", "1", "1", "41", "1504"]


def test_many_groups_are_summed_up_in_the_last_series(site: DashboardSite) -> None:
    site.post(*(at(i, model=f"m{i:03}", total_tokens=1000 + i) for i in range(120)))
    site.sign_in("admin")
    page = site.page(vendor="openai")
    rows = table(page, "groups")
    assert len(rows) == 100 + 1 + 1
    assert rows[-2][0] == "21 others"
    assert int(rows[-2][1]) + sum(int(row[1]) for row in rows[:-2]) == int(rows[-1][1])
    chart = page.partition('id="tokens-title"')[2].partition("</section>")[0]
    assert re.findall(r'<li title="([^"]*)"', chart)[::7] == ["openai/gpt-4o-mini", "other"]
    assert sum(values(page, "tokens")) == 1205 + sum(1000 + i for i in range(120))


def test_an_admin_sees_what_waits(site: DashboardSite, settings: Settings) -> None:
    stream = EventStream(connect(settings.redis_url, 5.0))
    stream.publish(usage_event())
    stream.publish(usage_event())
    Processes(connect(settings.redis_url, 5.0)).store({}, Search(time.time_ns() // 1_000_000))
    site.sign_in("admin")
    page = site.page()
    assert shown(page, "backlog") == "2"
    assert re.search(r"before \d{4}-\d\d-\d\d \d\d:\d\d:\d\d is counted", plain(page))
    assert "oldest" in page


def test_an_admin_sees_whose_usage_is_missing_and_since_when(
    site: DashboardSite, settings: Settings
) -> None:
    gap = Missing("web-1", 3, 4, 1_780_000_000_000, 1_780_000_060_000, found_ms=1)
    search = Search(time.time_ns() // 1_000_000, (gap,))
    Processes(connect(settings.redis_url, 5.0)).store({}, search)
    site.sign_in("admin")
    page = site.page()
    assert shown(page, "missing") == "2"
    assert table(page, "gaps") == [["web-1", "2", "2026-05-28 20:26:40", "2026-05-28 20:27:40"]]
    site.sign_in("usage")
    assert "Missing" not in site.page()


def test_without_redis_the_ledgers_pages_are_there(settings: Settings) -> None:
    away = replace(settings, redis_url="redis://127.0.0.1:1/0", redis_timeout_s=0.1)
    site = make_site(away)
    try:
        site.sign_in("admin")
        page = site.page()
        assert shown(page, "requests") == "4"
        assert "Redis is unavailable: the latest requests may be missing" in page
        assert shown(page, "backlog") == "Unknown: Redis is unavailable."
    finally:
        site.close()
