"""What the pages say of a known ledger, and to whom."""

import re
import time
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import text

from app.container import EXTENSION
from app.dashboard.requests import PAGE
from app.settings import Settings
from app.storage.redis.connection import connect
from app.usage.redis.stream import EventStream
from app.vocabulary.money import NANO
from tests.dashboard.site import DashboardSite, at, make_site
from tests.support.events import usage_event


def shown(page: str, element_id: str) -> str:
    """The text of an element."""
    found = re.search(rf'id="{element_id}"[^>]*>(.*?)</dd>', page)
    assert found, element_id
    return plain(found[1])


def table(page: str, table_id: str) -> list[list[str]]:
    """The cells of a table's body and foot, as text."""
    found = re.search(rf'<table id="{table_id}">.*?</thead>(.*?)</table>', page)
    assert found, table_id
    rows = re.findall(r"<tr>(.*?)</tr>", found[1])
    return [[plain(cell) for cell in re.findall(r"<t[hd].*?>(.*?)</t[hd]>", row)] for row in rows]


def plain(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", html).replace("&nbsp;", " ")).strip()


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


@pytest.mark.parametrize(
    "query",
    [
        {"since": "yesterday"},
        {"since": "2026-09-31"},
        {"since": "0001-01-01", "until": "0001-01-02"},
        {"since": "9999-12-31", "until": "9999-12-31"},
        {"since": "2026-09-30", "until": "2026-09-01"},
        {"since": "2020-01-01"},
        {"by": "user"},
        {"model": "gpt-4o"},
        {"account": "a\0b"},
    ],
)
def test_what_makes_no_sense_is_said_on_a_page(site: DashboardSite, query: dict[str, str]) -> None:
    site.sign_in("admin")
    answer = site.get(**query)
    assert answer.status_code == 400
    assert 'role="alert"' in answer.text


@pytest.mark.parametrize("query", [{"status": "good"}, {"after": "x"}, {"after": "9" * 16 + "-a"}])
def test_a_list_that_makes_no_sense_is_refused(site: DashboardSite, query: dict[str, str]) -> None:
    site.sign_in("admin")
    assert site.get("/requests", **query).status_code == 400


def test_an_empty_ledger_says_so(site: DashboardSite) -> None:
    site.sign_in("admin")
    page = site.page(since="2026-01-01", until="2026-01-31")
    assert "No usage is recorded" in page
    assert shown(page, "requests") == "0"
    assert "None is recorded" in site.page("/requests", since="2026-01-01", until="2026-01-31")


def test_errors_and_latencies_are_told_by_vendor(site: DashboardSite) -> None:
    slow = {"first_token_ms": 1500, "duration_ms": 90_000, "vendor_served": "groq"}
    site.post(at(5, **slow), at(6, status="disconnected", duration_ms=1, first_token_ms=None))
    site.sign_in("admin")
    page = site.page()
    assert table(page, "speeds") == [
        ["all", "6", "1 (16.7 %)", "40 ms / 1.5 s", "90 ms / 1 min 30 s"],
        ["anthropic", "2", "1 (50 %)", "40 ms / 40 ms", "90 ms / 90 ms"],
        ["groq", "1", "0 (0 %)", "1.5 s / 1.5 s", "1 min 30 s / 1 min 30 s"],
        ["openai", "3", "0 (0 %)", "40 ms / 40 ms", "90 ms / 90 ms"],
    ]
    assert table(page, "failures") == [
        ["anthropic", "failed", "503", "1"],
        ["openai", "disconnected", "200", "1"],
    ]
    assert shown(page, "first-token") == "40 ms"


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


def test_requests_are_listed_newest_first_without_another_word(site: DashboardSite) -> None:
    site.sign_in("admin")
    rows = table(site.page("/requests"), "list")
    assert [row[:6] for row in rows] == [
        ["2026-09-02 01:02:00", "beta", "openai/gpt-4o-mini", "completed 200", "3", "2"],
        ["2026-09-02 01:01:00", "acme", "anthropic/claude-haiku-4-5", "failed 503", "0", "0"],
        ["2026-09-02 01:00:00", "acme", "anthropic/claude-haiku-4-5", "completed 200", "300", "45"],
        ["2026-09-01 00:01:00", "acme", "openai/gpt-4o-mini", "completed 200", "1,000", "200"],
    ]
    assert [row[6] for row in rows] == ["$0.007", "\N{EN DASH}", "unknown", "$1.40"]
    failed = table(site.page("/requests", status="failed"), "list")
    assert [row[3] for row in failed] == ["failed 503"]


def test_older_requests_are_pages_that_neither_skip_nor_repeat(site: DashboardSite) -> None:
    ids = [f"req_{i:04}" for i in range(2 * PAGE + 1)]
    site.post(*(at(i // 3, account_id="beta", request_id=ids[i]) for i in range(len(ids))))
    site.sign_in("beta")
    query: dict[str, Any] = {"until": "2026-09-01", "status": "completed"}
    found: list[str] = []
    while True:
        page = site.page("/requests", **query)
        found += [row[-1] for row in table(page, "list")]
        older = re.search(r'rel="next" href="[^"]*after=([^"&]+)"', page)
        if older is None:
            break
        query["after"] = older[1]
    assert sorted(found) == ids
    assert len(found) == len(ids)


def test_what_callers_name_is_text_and_never_markup(site: DashboardSite) -> None:
    nasty = "<script>alert(1)</script>\"'&"
    site.post(at(1, model=nasty, request_id=nasty, total_tokens=9999))
    site.sign_in("admin")
    for page in (site.page(model=f"openai/{nasty}"), site.page("/requests")):
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert(1)" in page


def test_accounts_show_what_they_may_use_and_what_they_have(site: DashboardSite) -> None:
    site.accounts.set_limits("account", "acme", requests_per_minute=600, budget_nanousd=4 * NANO)
    site.accounts.set_limits("account", "beta", soft_nanousd=0, period="day", streams=7)
    key_id = site.key_ids["completions"]
    site.accounts.set_limits("key", key_id, tokens_per_minute=1_000_000, budget_nanousd=NANO)
    used = {"vendor": "openai", "model": "gpt-4o-mini", "api_key_id": key_id}
    site.post(usage_event(**used, account_id="acme", started_at_ms=now_ms(), prompt_tokens=1000))
    site.sign_in("admin")
    page = site.page("/accounts")
    accounts = {row[0]: row[1] for row in table(page, "accounts")}
    assert accounts == {
        "acme": "600 requests a minute $1.00 of $4.00 this month (UTC)",
        "beta": "7 streams at a time $0.00 of $0.00 today (UTC) (soft)",
    }
    keys = {row[1]: row[-1] for row in table(page, "keys")}
    assert keys["production"] == "1,000,000 tokens a minute $1.00 of $1.00 this month (UTC)"
    assert keys["report"] == "none"


def now_ms() -> int:
    return int(time.time() * 1000)


def test_keys_show_their_state_and_no_secret(site: DashboardSite) -> None:
    site.accounts.create_key(["acme"], ["completions"], "short", expires_at_ms=now_ms() + 10**6)
    site.accounts.revoke(site.key_ids["completions"])
    site.sign_in("admin")
    page = site.page("/accounts")
    states = {row[1]: row[2] for row in table(page, "keys")}
    assert states["production"] == "revoked"
    assert states["short"] == "live"
    assert not [secret for secret in site.keys.values() if secret in page]


def test_an_admin_sees_what_waits(site: DashboardSite, settings: Settings) -> None:
    stream = EventStream(connect(settings.redis_url, 5.0))
    stream.publish(usage_event())
    stream.publish(usage_event())
    site.sign_in("admin")
    page = site.page()
    assert shown(page, "backlog") == "2"
    assert re.search(r"before \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC is counted", page)
    assert "oldest" in page


def test_without_redis_the_ledgers_pages_are_there(settings: Settings) -> None:
    away = replace(settings, redis_url="redis://127.0.0.1:1/0", redis_timeout_s=0.1)
    site = make_site(away)
    try:
        site.sign_in("admin")
        page = site.page()
        assert shown(page, "requests") == "4"
        assert "Redis does not answer: the last requests may be missing" in page
    finally:
        site.close()


def test_without_the_ledger_a_page_says_so(site: DashboardSite) -> None:
    site.sign_in("admin")
    with site.engine.begin() as connection:
        for table in ("entries", "rollups", "daily_rollups"):
            connection.execute(text(f"DROP TABLE {table}"))
    answer = site.get()
    assert answer.status_code == 503
    assert "ledger" in answer.text
    assert answer.mimetype == "text/html"


def test_an_unexpected_error_is_a_page_that_tells_nothing(
    site: DashboardSite, caplog: pytest.LogCaptureFixture
) -> None:
    site.sign_in("admin")
    app = site.client.application
    app.extensions[EXTENSION] = replace(app.extensions[EXTENSION], usage_reader=None)
    answer = site.get()
    assert answer.status_code == 500
    assert "NoneType" not in answer.text
    assert "NoneType" in caplog.text
    assert answer.headers["x-request-id"] in answer.text
