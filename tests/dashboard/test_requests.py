"""The list of requests: order, pages, filters."""

import re
from typing import Any

import pytest

from app.dashboard.requests import PAGE
from tests.dashboard.site import DashboardSite, at, table


@pytest.mark.parametrize("query", [{"status": "good"}, {"after": "x"}, {"after": "9" * 16 + "-a"}])
def test_a_list_that_makes_no_sense_is_refused(site: DashboardSite, query: dict[str, str]) -> None:
    site.sign_in("admin")
    assert site.get("/requests", **query).status_code == 400


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
