"""Fills a page of buckets from the ledger, with one query for each run of equal buckets."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from app.ledger.reports.buckets import Bucket, BucketRun, runs
from app.ledger.reports.query import UsageQuery, UsageRow
from app.ledger.reports.reader import UsageReader


def fill(
    reader: UsageReader, query: UsageQuery, page: Sequence[Bucket], width_s: int
) -> Mapping[int, list[UsageRow]]:
    """Return the rows of each bucket that has any, by the bucket's start (Unix seconds).

    The page replaces the range and the buckets of `query`.
    Raises: UsagePruned, LedgerUnavailable.
    """
    filled: defaultdict[int, list[UsageRow]] = defaultdict(list)
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
