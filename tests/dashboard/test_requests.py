"""The list of requests: order, pages, filters."""

import re
from typing import Any

import pytest

from app.dashboard.requests import PAGE
from tests.dashboard.site import DashboardSite, at, plain, table


@pytest.mark.parametrize("query", [{"status": "good"}, {"after": "x"}, {"after": "9" * 16 + "-a"}])
def test_a_list_that_makes_no_sense_is_refused(site: DashboardSite, query: dict[str, str]) -> None:
    site.sign_in("admin")
    assert site.get("/requests", **query).status_code == 400


def test_requests_are_listed_newest_first_without_another_word(site: DashboardSite) -> None:
    site.sign_in("admin")
    rows = table(site.page("/requests"), "list")
    assert [row[:5] for row in rows] == [
        ["2026-09-02 01:02:00", "openai/gpt-4o-mini", "completed 200", "3 + 2", "$0.007"],
        ["2026-09-02 01:01:00", "anthropic/claude-haiku-4-5", "failed 503", "0 + 0", "\N{EN DASH}"],
        [
            "2026-09-02 01:00:00",
            "anthropic/claude-haiku-4-5",
            "completed 200",
            "300 + 45",
            "unknown",
        ],
        ["2026-09-01 00:01:00", "openai/gpt-4o-mini", "completed 200", "1,000 + 200", "$1.40"],
    ]
    assert [row[6] for row in rows] == ["beta", "acme", "acme", "acme"]
    assert "4 requests, 1 failed in this range" in plain(site.page("/requests"))
    failed = table(site.page("/requests", status="failed"), "list")
    assert [row[2] for row in failed] == ["failed 503"]


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


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"account": "beta"}, ["beta"]),
        ({"model": "openai/gpt-4o-mini"}, ["beta", "acme"]),
        ({"user": "u-1"}, ["acme"]),
        ({"status": "failed", "vendor": "anthropic"}, ["acme"]),
        ({"key": "another"}, []),
        ({"endpoint": "chat.completions"}, ["acme"]),
    ],
)
def test_filters_leave_out_other_requests(
    site: DashboardSite, query: dict[str, str], found: list[str]
) -> None:
    site.post(at(1, user="u-1", model="m", endpoint="chat.completions"))
    site.sign_in("admin")
    page = site.page("/requests", **query)
    rows = table(page, "list") if found else []
    assert [row[6].split()[0] for row in rows] == found
    assert found or "remove the filters" in page


def test_a_requests_time_leads_to_its_page(site: DashboardSite) -> None:
    site.post(at(1, request_id="req/with ?signs&"))
    site.sign_in("admin")
    link = re.search(r'<a href="(/dashboard/requests/req/with[^"]*)"', site.page("/requests"))
    assert link
    assert site.client.get(link[1].replace("&amp;", "&")).status_code == 200
