"""CSV that is safe to open in a spreadsheet: names chosen by callers never run as formulas."""

import csv
import io
from collections.abc import Iterable
from typing import Any

#: Characters at which a spreadsheet starts a formula, including full-width signs.
#: Source: OWASP, "CSV Injection".
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


#: With this character first, Excel reads a file as UTF-8; otherwise, in the encoding of its locale.
BYTE_ORDER_MARK = "\ufeff"


def csv_headings(cells: Iterable[Any], *, bom: bool = False) -> str:
    """Return the first line of a file, after a byte-order mark if `bom`; see `csv_line`."""
    return f"{BYTE_ORDER_MARK if bom else ''}{csv_line(cells)}"


def csv_line(cells: Iterable[Any]) -> str:
    """Return one line in the format of RFC 4180.

    Text that would run as a formula is prefixed with an apostrophe. None becomes an empty cell.
    """
    line = io.StringIO()
    csv.writer(line).writerow([_cell(cell) for cell in cells])
    return line.getvalue()


def _cell(cell: Any) -> Any:
    if isinstance(cell, str) and cell.startswith(_FORMULA_STARTS):
        return f"'{cell}"
    return cell
