"""Vendors' bills: JSON and CSV."""

import json
from datetime import date

import pytest

from app.ledger.bill import BillError, read_bill
from app.ledger.slots import DAY_S
from tests.ledger.bills import CSV, TODAY, bucket, page, pages
from tests.ledger.ledgers import MIDNIGHT_S

NOTHING = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}


def test_pages_come_one_alone_in_a_list_or_line_by_line() -> None:
    first, second = page(bucket(("a", 1, 2))), page(bucket(("a", 3, 4), ("b", 5, 6)))
    whole = json.dumps(page(*first["data"], *second["data"])).encode()
    listed = json.dumps([first, second], indent=2).encode()
    for raw in (whole, listed, pages(first, second), b"\xef\xbb\xbf" + whole):
        bill = read_bill(raw)
        assert bill.lines == {
            (TODAY, "a"): {"input_tokens": 4, "output_tokens": 6},
            (TODAY, "b"): {"input_tokens": 5, "output_tokens": 6},
        }
        assert (bill.first, bill.last) == (TODAY, TODAY)


def test_hours_are_summed_to_days_and_days_without_usage_are_days_of_the_bill() -> None:
    bill = read_bill(
        pages(page(*(bucket(("a", 1, 1), start_s=MIDNIGHT_S + h * 3600) for h in range(24))))
    )
    assert bill.lines[TODAY, "a"]["input_tokens"] == 24
    empty = read_bill(pages(page(bucket(), bucket(start_s=MIDNIGHT_S + 2 * DAY_S))))
    assert (empty.first, empty.last, empty.lines) == (TODAY, date(2026, 5, 30), {})


def test_csv_has_tokens_or_both_kinds_of_them() -> None:
    assert read_bill(CSV.encode()).measures == ("tokens",)
    text = "model,output_tokens,day,input_tokens,other\nm,2,2026-05-28,3,x\nm,2,2026-05-28,3,x\n"
    bill = read_bill(text.encode())
    assert bill.lines == {(TODAY, "m"): {"input_tokens": 6, "output_tokens": 4}}


def test_a_spreadsheets_csv_has_headings_and_numbers_of_its_own() -> None:
    bill = read_bill(
        b'\xef\xbb\xbfDay, Model ,TOKENS\r\n2026-05-28,m,"1,234"\r\n2026-05-28,m, 1 \r\n'
    )
    assert bill.lines == {(TODAY, "m"): {"tokens": 1235}}


def test_a_line_without_its_model_counts_all_the_same() -> None:
    bill = read_bill(b"day,tokens,model\n2026-05-28,5\n2026-05-28,2,\n")
    assert bill.lines == {(TODAY, ""): {"tokens": 7}}


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"", "columns"),
        (b"day,model\n2026-05-28,m\n", "columns"),
        (b"day,model,tokens\n", "no day"),
        (b"day,model,tokens\n28.5.2026,m,5\n", "line 2"),
        (b"day,model,tokens\n2026-05-28,m,five\n", "line 2"),
        (b"day,model,tokens\n2026-05-28\n", "line 2"),
        (b"day,model,tokens\n2026-05-28,m,1,234\n", "line 2 of the CSV: it has more cells"),
        (b"day;model;tokens\n2026-05-28;m;5\n", "separated by commas"),
        (b"x" * 200_000, "line 1 is not CSV"),
        (b"day,model,tokens\n2026-05-28,m,5\n2026-05-28,'" + b"x" * 200_000, "line 3"),
        (b'day,model,tokens\n2026-05-28,"' + b"x\n" * 100_000, "is not CSV"),
        (b"{", "cannot be read"),
        (b"{}", "not a page"),
        (b"[5]", "not a page"),
        (pages(page(bucket(("a", 1, 2)) | {"start_time": "x"})), "OpenAI's format"),
        (pages(page({"start_time": 5})), "OpenAI's format"),
        (pages(page(bucket((None, 1, 2)))), "group_by=model"),  # type: ignore[arg-type]
        (pages(page(bucket(("a", 1.5, 2)))), "not whole numbers"),  # type: ignore[arg-type]
    ],
)
def test_an_invalid_bill_is_rejected_with_the_place_of_the_problem(
    raw: bytes, problem: str
) -> None:
    with pytest.raises(BillError, match=problem):
        read_bill(raw)
