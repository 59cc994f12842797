"""Fills a page of buckets from the ledger, with one query for each run of equal buckets."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from app.ledger.reports.buckets import Bucket, BucketRun, runs
from app.ledger.reports.query import UsageQuery


class BucketRow(Protocol):
    """A row that is of one bucket."""

    @property
    def bucket_start_s(self) -> int | None: ...


RowT = TypeVar("RowT", bound=BucketRow)
RowT_co = TypeVar("RowT_co", bound=BucketRow, covariant=True)


class RowReader(Protocol[RowT_co]):
    """Reads rows, such as those of usage, of one ledger."""

    def rows(self, query: UsageQuery) -> Sequence[RowT_co]:
        """Return a row for each bucket and group that has anything, by bucket."""
        ...


def fill(
    reader: RowReader[RowT], query: UsageQuery, page: Sequence[Bucket], width_s: int
) -> Mapping[int, list[RowT]]:
    """Return the rows of each bucket that has any, by the bucket's start (Unix seconds).

    The page replaces the range and the buckets of `query`.
    Raises: UsagePruned, LedgerUnavailable.
    """
    filled: defaultdict[int, list[RowT]] = defaultdict(list)
    for run in runs(page, width_s):
        for row in reader.rows(_query(query, run, width_s)):
            # A page may start inside a bucket of the ledger's.
            filled[max(run.start_s, row.bucket_start_s or 0)].append(row)
    return filled


def _query(query: UsageQuery, run: BucketRun, width_s: int) -> UsageQuery:
    bounded = replace(query, start_s=run.start_s, end_s=run.end_s)
    if run.phase_s is None:
        return bounded
    return replace(bounded, bucket_s=width_s, phase_s=run.phase_s)
