"""CSV that spreadsheets may open: names that callers chose must not run as formulas."""

import csv
import io
from collections.abc import Iterable
from typing import Any

#: What makes a spreadsheet take a cell for a formula, the wide signs of Asian keyboards as well.
#: Source: OWASP, "CSV Injection".
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def csv_line(cells: Iterable[Any]) -> str:
    """Return one line, as RFC 4180 has it.

    Text that would be a formula gets an apostrophe before it; None is empty, numbers stay.
    """
    line = io.StringIO()
    csv.writer(line).writerow([_cell(cell) for cell in cells])
    return line.getvalue()


def _cell(cell: Any) -> Any:
    if isinstance(cell, str) and cell.startswith(_FORMULA_STARTS):
        return f"'{cell}"
    return cell
