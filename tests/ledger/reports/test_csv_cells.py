"""CSV that is safe to open in a spreadsheet."""

import csv
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ledger.reports.csv_cells import csv_headings, csv_line


def cells(line: str) -> list[str]:
    (found,) = csv.reader(io.StringIO(line, newline=""))
    return found


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "\n=1",
        "\uff1d1",
        "\uff0b1",
        "\uff0d1",
        "\uff201",
    ],
)
def test_text_that_would_run_as_a_formula_is_prefixed_with_an_apostrophe(text: str) -> None:
    assert cells(csv_line([text])) == [f"'{text}"]


@pytest.mark.parametrize(
    ("cell", "written"),
    [(-1, "-1"), (0, "0"), (None, ""), ("a=b", "a=b"), ("", ""), ("1.5", "1.5"), ("'x", "'x")],
)
def test_other_cells_stay_as_they_are(cell: Any, written: str) -> None:
    assert cells(csv_line(["x", cell])) == ["x", written]


def test_a_line_ends_as_rfc_4180_says_and_quotes_what_it_must() -> None:
    assert csv_line(["a,b", 'say "x"', 5]) == '"a,b","say ""x""",5\r\n'


@given(st.lists(st.text(st.characters(exclude_characters="\0", codec="utf-8")), min_size=1))
def test_no_cell_starts_a_formula_and_no_text_is_lost(texts: list[str]) -> None:
    found = cells(csv_line(texts)) if any(texts) or len(texts) > 1 else texts
    for text, cell in zip(texts, found, strict=True):
        assert cell in (text, f"'{text}")
        assert not cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))


def test_a_file_may_start_with_a_byte_order_mark() -> None:
    assert csv_headings(["day", "user"]) == "day,user\r\n"
    assert csv_headings(["day"], bom=True).encode() == b"\xef\xbb\xbfday\r\n"
