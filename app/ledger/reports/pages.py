"""A page of buckets, filled from the ledger: as few statements as local time allows."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from app.ledger.reports.buckets import Bucket, Run, runs
from app.ledger.reports.query import UsageQuery, UsageReader, UsageRow


def fill(
    reader: UsageReader, query: UsageQuery, page: Sequence[Bucket], width_s: int
) -> Mapping[int, list[UsageRow]]:
    """Return the rows of each bucket by the bucket's start; `query` says all but the range.

    Raises: LedgerUnavailable.
    """
    filled: defaultdict[int, list[UsageRow]] = defaultdict(list)
    for run in runs(page, width_s):
        for row in reader.rows(_query(query, run, width_s)):
            # The first bucket may start within the width that the ledger cut.
            filled[max(run.start_s, row.bucket_start_s or 0)].append(row)
    return filled


def _query(query: UsageQuery, run: Run, width_s: int) -> UsageQuery:
    bounded = replace(query, start_s=run.start_s, end_s=run.end_s)
    if run.phase_s is None:
        return bounded
    return replace(bounded, bucket_s=width_s, phase_s=run.phase_s)
