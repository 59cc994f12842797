"""Refused requests by reason, account and key, for a table. No I/O."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.ledger.reports.query import UsageQuery
from app.ledger.reports.refusals import RefusalRow
from app.ledger.slots import HOUR_S, floor_to

#: Lines of the table; the others are added up.
LINES_LIMIT = 20


@dataclass(frozen=True, slots=True)
class RefusalTable:
    """The refusals, the most frequent first, and the number of all refused requests."""

    ranked: Sequence[RefusalRow]
    total: int

    @property
    def rows(self) -> Sequence[RefusalRow]:
        """Those that have a line."""
        return self.ranked[:LINES_LIMIT]

    @property
    def rest(self) -> int:
        """The number of refused requests without a line."""
        return self.total - sum(row.requests for row in self.rows)


def refusal_query(query: UsageQuery) -> UsageQuery:
    """Return the query of the same accounts and keys, for the range's whole hours."""
    return replace(
        query,
        start_s=floor_to(query.start_s, HOUR_S),
        bucket_s=None,
        phase_s=0,
        group_by=("reason", "account", "api_key"),
    )


def refusal_table(rows: Sequence[RefusalRow]) -> RefusalTable:
    """Return the table of rows."""
    ranked = sorted(
        rows,
        key=lambda it: (-it.requests, it.reason or "", it.account_id or "", it.api_key_id or ""),
    )
    return RefusalTable(ranked, sum(row.requests for row in rows))
