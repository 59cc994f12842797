"""Reads a vendor's bill: pages of OpenAI's usage API, or a CSV file.

Days are in UTC. Does not depend on the ledger.
"""

import csv
import io
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

import orjson

#: The token counts that a bill may have, and that the ledger is compared by.
MEASURES: tuple[str, ...] = ("input_tokens", "output_tokens", "tokens")

#: (day, model) -> measure -> tokens.
Lines = Mapping[tuple[date, str], Mapping[str, int]]


class BillError(ValueError):
    """A file is not a valid bill; the message gives the place and the problem."""


@dataclass(frozen=True, slots=True)
class Bill:
    """A vendor's counts for the days `first` to `last` (inclusive).

    `measures` are the counts that the file has; a file without usage has none.
    """

    first: date
    last: date
    measures: tuple[str, ...]
    lines: Lines


def read_bill(raw: bytes) -> Bill:
    """Parse a bill and sum its counts by day and model.

    Shapes: JSON, as one page, a list of pages, or a page per line; otherwise CSV.
    Raises: BillError.
    """
    text = raw.decode("utf-8-sig", "replace").strip()
    rows = list(_json_rows(text) if text[:1] in ("{", "[") else _csv_rows(text))
    if not rows:
        raise BillError("the bill has no days")
    days = [day for day, _, _ in rows]
    sums: defaultdict[tuple[date, str], defaultdict[str, int]] = defaultdict(
        lambda: defaultdict(int)
    )
    for day, model, counts in rows:
        if model is not None:
            for measure, count in counts.items():
                sums[day, model][measure] += count
    found = {measure for counts in sums.values() for measure in counts}
    measures = tuple(measure for measure in MEASURES if measure in found)
    return Bill(min(days), max(days), measures, sums)


_THOUSANDS = re.compile(r"-?[0-9]{1,3}(?:,[0-9]{3})+")

#: A line of a bill: its day, its model (None for a day without usage), and its counts.
BillRow = tuple[date, str | None, Mapping[str, int]]


def _json_rows(text: str) -> Iterator[BillRow]:
    for page in _pages(text):
        buckets = page.get("data") if isinstance(page, dict) else None
        if not isinstance(buckets, list):
            raise BillError("the JSON is not a page of OpenAI's usage API: it has no `data` list")
        try:
            yield from (row for bucket in buckets for row in _bucket_rows(bucket))
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as exc:
            if isinstance(exc, BillError):
                raise
            raise BillError(f"a bucket does not have OpenAI's format: {exc!r}") from exc


def _pages(text: str) -> list[Any]:
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        try:
            return [orjson.loads(line) for line in text.splitlines() if line.strip()]
        except orjson.JSONDecodeError as exc:
            raise BillError(f"the JSON cannot be read: {exc.msg}") from exc
    return found if isinstance(found, list) else [found]


def _bucket_rows(bucket: Mapping[str, Any]) -> Iterator[BillRow]:
    day = datetime.fromtimestamp(bucket["start_time"], UTC).date()
    yield day, None, {}
    for result in bucket["results"]:
        model = result["model"]
        if not isinstance(model, str):
            raise BillError("the usage is not grouped by model: request it with group_by=model")
        counts = {name: result[name] for name in ("input_tokens", "output_tokens")}
        if not all(type(count) is int for count in counts.values()):
            raise BillError(f"the token counts of {model} on {day} are not whole numbers")
        yield day, model, counts


def _csv_rows(text: str) -> Iterator[BillRow]:
    reader = csv.DictReader(io.StringIO(text, newline=""))
    try:
        reader.fieldnames = [name.strip().lower() for name in reader.fieldnames or ()]
        yield from _rows_of(reader)
    except csv.Error as exc:  # as for a field of more than 128 KiB
        raise BillError(f"line {reader.reader.line_num} is not CSV: {exc}") from exc


def _rows_of(reader: "csv.DictReader[str]") -> Iterator[BillRow]:
    columns = reader.fieldnames or ()
    measures = [name for name in MEASURES if name in columns]
    if not {"day", "model"} <= set(columns) or not measures:
        raise BillError(
            "the CSV needs the columns day, model, and tokens (or input_tokens, output_tokens),"
            " separated by commas"
        )
    for row in reader:
        try:
            yield _row_of(row, measures)
        except ValueError as exc:
            raise BillError(f"line {reader.line_num} of the CSV: {exc}") from exc


def _row_of(row: Mapping[str | None, Any], measures: Sequence[str]) -> BillRow:
    if None in row:
        raise ValueError("it has more cells than the first line: put quotes around `1,234`")
    try:
        day = date.fromisoformat(row["day"] or "")
    except ValueError as exc:
        raise ValueError(f"day must be such as 2026-11-30, not {row['day']!r}") from exc
    return day, row["model"] or "", {name: _tokens(name, row[name]) for name in measures}


def _tokens(name: str, text: str | None) -> int:
    digits = (text or "").strip()
    if _THOUSANDS.fullmatch(digits):
        digits = digits.replace(",", "")
    try:
        return int(digits)
    except ValueError as exc:
        raise ValueError(f"{name} must be a whole number, not {text!r}") from exc
