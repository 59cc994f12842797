"""Refused requests on the dashboard."""

from app.dashboard.refusals import LINES_LIMIT, refusal_table
from app.ledger.refusals import post_refusals
from app.ledger.reports.refusals import RefusalRow
from app.usage.refusal import Refusal
from tests.dashboard.site import MIDNIGHT_S, DashboardSite, table


def test_the_most_frequent_have_lines_and_the_rest_is_added_up() -> None:
    rows = [RefusalRow(reason=f"r{n:02}", requests=n) for n in range(1, LINES_LIMIT + 3)]
    shown = refusal_table(rows)
    assert shown.rows[0].reason == f"r{LINES_LIMIT + 2:02}"
    assert (len(shown.rows), shown.rest) == (LINES_LIMIT, 1 + 2)
    assert shown.total == sum(row.requests for row in rows)


def test_a_key_sees_the_refused_requests_of_its_accounts(site: DashboardSite) -> None:
    site.sign_in("admin")
    assert "Refused requests" not in site.page()
    counts = {
        Refusal(MIDNIGHT_S, "acme", "key_1", "completions", "invalid_json"): 2,
        Refusal(MIDNIGHT_S, "", "", "completions", "invalid_api_key"): 3,
    }
    post_refusals(site.engine, "b", counts, 0)
    assert table(site.page(), "refusals") == [
        ["invalid_api_key", "none", "none", "3"],
        ["invalid_json", "acme", "key_1", "2"],
    ]
    site.sign_in("usage")
    assert table(site.page(), "refusals") == [["invalid_json", "acme", "key_1", "2"]]
    site.sign_in("beta")
    assert "Refused requests" not in site.page()
