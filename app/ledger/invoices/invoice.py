"""An invoice: one account's month, with its lines in cents, and where its numbers come from."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Engine

from app.ledger.invoices.cents import apportioned, cents_of
from app.ledger.invoices.lines import GroupBy, InvoiceLine, line_of_rollup, lines_of_entries
from app.ledger.invoices.month import Month
from app.ledger.invoices.origin import Origin
from app.ledger.reports.buckets import Bucket, buckets
from app.ledger.reports.query import NO_USAGE, GroupKey, UsageQuery, UsageRow
from app.ledger.reports.reader import UsageReader
from app.ledger.retention import pruned_until_s, require_entries
from app.ledger.slots import DAY_S
from app.storage.sql.postgresql import without_time_limit
from app.storage.sql.transactions import reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Invoice:
    """One account's month, as read at `read_at_s` (Unix seconds).

    `lines` contain all requests that used tokens. `totals` are the month's totals by the rollups,
    which also count requests that used nothing.
    """

    account_id: str
    account_name: str
    month: Month
    read_at_s: float
    lines: tuple[InvoiceLine, ...]
    totals: UsageRow
    origin: Origin

    @property
    def exact_nanousd(self) -> int:
        """The exact sum of all lines, in nano-dollars."""
        return sum(line.cost_nanousd or 0 for line in self.lines)

    @property
    def unpriced_requests(self) -> int:
        """How many requests used tokens at an unknown price; they are not in the sum."""
        return sum(line.unpriced for line in self.lines)

    @property
    def total_cents(self) -> int | None:
        """The exact sum, rounded half up to the cent; None if no price is known."""
        if self.unpriced_requests and not self.exact_nanousd:
            return None
        return cents_of(self.exact_nanousd)

    def cents(self) -> list[int | None]:
        """Return each line's amount in cents; None if its price is unknown."""
        known = apportioned([it.cost_nanousd or 0 for it in self.lines])
        pairs = zip(self.lines, known, strict=True)
        return [None if it.cost_nanousd is None else cents for it, cents in pairs]

    def draft_reasons(self) -> Iterator[str]:
        """Yield why the invoice is a draft; nothing if it is final."""
        end_s, until_ms = self.month.end_s, self.origin.complete_until_ms
        if self.read_at_s < end_s:
            yield f"{self.month} has not ended."
        elif until_ms is None:
            yield "How far the ledger is complete is unknown: set REDIS_URL, and run a worker."
        elif until_ms < end_s * 1000:
            until = datetime.fromtimestamp(until_ms / 1000, UTC)
            yield f"The ledger is complete only until {until:%Y-%m-%d %H:%M:%S} UTC."
        elif not self._agrees():
            yield "The entries and the totals of the month differ: run tollgate reconcile."

    def _agrees(self) -> bool:
        requests = sum(line.requests for line in self.lines) + self.totals.empty_requests
        return (requests, self.exact_nanousd) == (self.totals.requests, self.totals.cost_nanousd)


@dataclass(frozen=True, slots=True)
class InvoiceReader:
    """Reads the invoices of one ledger; every method raises LedgerUnavailable."""

    engine: Engine

    def steps(self, month: Month) -> list[Bucket]:
        """Return the parts of a month that are read one by one: a day, or all pruned days."""
        with reading(self.engine) as connection:
            pruned_s = min(max(month.start_s, pruned_until_s(connection)), month.end_s)
        pruned = [Bucket(month.start_s, pruned_s)] if pruned_s > month.start_s else []
        return pruned + list(buckets(pruned_s, month.end_s, DAY_S))

    def lines(self, account_id: str, step: Bucket, *, by: Sequence[GroupBy]) -> list[InvoiceLine]:
        """Return the lines of a step, of which several may have the same key.

        They are by model, and by what `by` names.

        Raises: UsagePruned if entries were pruned while they were read.
        """
        span_s = step.start_s, step.end_s
        with reading(self.engine) as connection:
            without_time_limit(connection)
            if step.start_s >= pruned_until_s(connection):
                found = list(lines_of_entries(connection, account_id, span_s, by=by))
                require_entries(connection, step.start_s)
                return found
        groups: tuple[GroupKey, ...] = ("model", *by)
        query = UsageQuery(*span_s, account_ids=frozenset({account_id}), group_by=groups)
        rows = UsageReader(self.engine).rows(query)
        return [line_of_rollup(row, span_s) for row in rows if row.requests > row.empty_requests]

    def totals(self, account_id: str, month: Month) -> UsageRow:
        """Return the month's totals, by the rollups."""
        accounts = frozenset({account_id})
        query = UsageQuery(month.start_s, month.end_s, account_ids=accounts)
        return next(iter(UsageReader(self.engine).rows(query)), NO_USAGE)
