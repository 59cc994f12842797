"""CSV files of single requests."""

from datetime import UTC

from app.dashboard.downloads import csv_file, request_lines
from app.ledger.reports.query import UsageQuery
from app.ledger.reports.recent import RecentReader
from tests.dashboard.site import MIDNIGHT_S, DashboardSite, at


def test_a_name_that_is_a_formula_is_text_in_a_file(site: DashboardSite) -> None:
    site.post(at(86_399, user="=1+1", request_id="req_\N{SNOWMAN}"))
    query = UsageQuery(MIDNIGHT_S, MIDNIGHT_S + 86_400)
    lines = list(request_lines(RecentReader(site.engine).requests(query, 1), UTC))
    with site.client.application.test_request_context():
        answer = csv_file("requests", lines)
    text = answer.get_data(as_text=True)
    assert text.startswith("\ufeffstarted_at,request_id,")
    assert "2026-09-01T23:59:59+00:00,req_\N{SNOWMAN}," in text
    assert ",'=1+1," in text
    assert answer.headers["content-disposition"] == 'attachment; filename="tollgate-requests.csv"'
