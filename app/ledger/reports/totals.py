"""Totals of a range of any length: from rollups at once, from entries a day at a time.

A day of entries bounds what one statement reads, and shows how far a long report is. `pages` fills
the buckets of one step.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, tzinfo
from itertools import islice

from app.ledger.reports.buckets import Bucket, buckets
from app.ledger.reports.pages import fill
from app.ledger.reports.query import UsageQuery, UsageRow
from app.ledger.reports.reader import UsageReader
from app.ledger.slots import DAY_S

#: The most buckets of rollups in a step.
STEP_LIMIT = 1_000

#: Buckets that are read together.
Step = Sequence[Bucket]


def steps_of(query: UsageQuery, width_s: int | None, zone: tzinfo = UTC) -> list[Step]:
    """Divide the range of a query into steps, each to be read with `read_step`.

    `width_s` is the width of the buckets, whose days begin at midnight in `zone`; None: no buckets.
    """
    if width_s is None and not query.needs_entries:
        return [[Bucket(query.start_s, query.end_s)]]
    cut = buckets(query.start_s, query.end_s, width_s or DAY_S, zone)
    size = DAY_S // (width_s or DAY_S) if query.needs_entries else STEP_LIMIT
    return list(iter(lambda: list(islice(cut, size)), []))


def read_step(
    reader: UsageReader, query: UsageQuery, step: Step, width_s: int | None
) -> list[UsageRow]:
    """Return the rows of a step; with buckets, each has the start of its bucket.

    Raises: UsagePruned, LedgerUnavailable.
    """
    if width_s is None:
        return reader.rows(replace(query, start_s=step[0].start_s, end_s=step[-1].end_s))
    filled = fill(reader, query, step, width_s)
    return [
        replace(row, bucket_start_s=start_s) for start_s, rows in filled.items() for row in rows
    ]


def merged(rows: Iterable[UsageRow]) -> list[UsageRow]:
    """Return a row for each bucket and group, in the order in which they first appear."""
    found: dict[tuple[object, ...], UsageRow] = {}
    for row in rows:
        who = (row.account_id, row.api_key_id, row.user)
        key = (row.bucket_start_s, *who, row.vendor, row.model, row.status, row.endpoint)
        found[key] = found[key] + row if key in found else row
    return list(found.values())
