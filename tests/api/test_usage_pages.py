"""Usage and costs as a file."""

import csv
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ledger.reports.csv_cells import csv_line
from tests.api.usage_site import COSTS, DAY_S, MIDNIGHT_S, Site, at

RANGE: dict[str, Any] = {"start_time": MIDNIGHT_S, "end_time": MIDNIGHT_S + 40 * DAY_S}


def read(site: Site, **query: Any) -> list[dict[str, str]]:
    """Return the lines of a file."""
    response = site.get({**RANGE, "format": "csv", **query})
    assert response.status_code == 200
    assert response.mimetype == "text/csv"
    return list(csv.DictReader(io.StringIO(response.text, newline="")))


def test_a_file_has_all_of_the_range(each_site: Site) -> None:
    each_site.post(*(at(MIDNIGHT_S + i * DAY_S, model=f"m{i % 2}") for i in (0, 1, 33, 39)))
    response = each_site.get({**RANGE, "format": "csv", "group_by": ["model", "project_id"]})
    assert response.headers["content-disposition"] == 'attachment; filename="usage.csv"'
    lines = response.text.splitlines()
    assert lines[0] == (
        "start,end,project_id,model,input_tokens,output_tokens,input_cached_tokens,"
        "input_cache_write_tokens,input_uncached_tokens,input_audio_tokens,output_audio_tokens,"
        "input_image_tokens,output_image_tokens,input_cache_write_1h_tokens,web_search_calls,"
        "num_model_requests,failed_requests"
    )
    assert lines[1] == (
        "2026-09-01T00:00:00+00:00,2026-09-02T00:00:00+00:00,acme,openai/m0,3,2,0,0,3,0,0,0,0,0,0,1,0"
    )
    assert len(lines) == 5


def test_a_file_may_be_by_endpoint(site: Site) -> None:
    site.post(at(MIDNIGHT_S, endpoint="chat.completions"))
    lines = site.get({**RANGE, "format": "csv", "group_by": "endpoint"}).text.splitlines()
    assert lines[0].startswith("start,end,endpoint,input_tokens,")
    assert lines[1].startswith(
        "2026-09-01T00:00:00+00:00,2026-09-02T00:00:00+00:00,chat.completions,3,2,"
    )


def test_a_file_may_start_with_a_byte_order_mark_for_excel(site: Site) -> None:
    site.post(at(MIDNIGHT_S, user="Zo\u00eb"))
    query = {**RANGE, "format": "csv", "group_by": "user_id"}
    plain = site.get(query).data
    assert "Zo\u00eb".encode() in plain
    assert site.get({**query, "bom": "true"}).data == b"\xef\xbb\xbf" + plain
    assert site.get({**query, "bom": "false"}).data == plain


def test_times_of_a_file_are_local_where_a_zone_is_asked_for(site: Site) -> None:
    site.post(at(MIDNIGHT_S))
    (line,) = read(site, timezone="Asia/Kathmandu", bucket_width="1h")
    assert (line["start"], line["end"]) == (
        "2026-09-01T05:45:00+05:45",
        "2026-09-01T06:00:00+05:45",
    )


def test_a_file_of_costs_has_exact_amounts_and_none_where_the_price_is_unknown(site: Site) -> None:
    site.path = COSTS
    site.post(at(MIDNIGHT_S))
    (line,) = read(site, group_by="line_item")
    assert line == {
        "start": "2026-09-01T00:00:00+00:00",
        "end": "2026-09-02T00:00:00+00:00",
        "line_item": "openai/m",
        "amount_usd": "",
        "tokens": "5",
        "unpriced_requests": "1",
    }


def test_a_file_without_usage_is_its_headings(site: Site) -> None:
    assert read(site) == []
    future = {"start_time": 9 * MIDNIGHT_S, "format": "csv"}
    assert site.get(future).text.startswith("start,end,input_tokens")


@pytest.mark.parametrize("user", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\uff1d1"])
def test_a_name_that_is_a_formula_is_text_in_a_spreadsheet(site: Site, user: str) -> None:
    site.post(at(MIDNIGHT_S, user=user))
    (line,) = read(site, group_by="user_id")
    assert line["user_id"] == f"'{user}"


def test_quotes_commas_and_line_ends_stay_in_their_cell(site: Site) -> None:
    user = 'a "b", c\nd'
    site.post(at(MIDNIGHT_S, user=user))
    (line,) = read(site, group_by="user_id")
    assert line["user_id"] == user


@given(st.lists(st.text() | st.integers() | st.none(), min_size=2))
def test_no_cell_of_text_begins_as_a_formula(cells: list[str | int | None]) -> None:
    (row,) = csv.reader(io.StringIO(csv_line(cells), newline=""))
    for cell, written in zip(cells, row, strict=True):
        assert not (isinstance(cell, str) and written.startswith(("=", "+", "-", "@")))
        assert written.removeprefix("'") == ("" if cell is None else str(cell)).removeprefix("'")
