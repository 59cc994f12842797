"""Budgets: what accounts and keys have spent of them in the current day or month (UTC)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from app.ledger.reports.query import GroupKey, UsageQuery
from app.ledger.reports.reader import UsageReader
from app.vocabulary.limits import Kind, Limits, Period, period_end, period_start

_GROUPS: Mapping[Kind, GroupKey] = {"account": "account", "key": "api_key"}

#: The states of a budget.
STATES = ("ok", "near", "over")

#: The share of a budget from which it is nearly spent, unless its soft bound is reached before.
NEAR = 0.8


@dataclass(frozen=True, slots=True)
class Allowance:
    """The limits of an account or key, and its spending in the budget's period."""

    limits: Limits
    spent_nanousd: int

    @property
    def bound_nanousd(self) -> int | None:
        """The budget, or the soft bound if there is no budget; None if there is neither."""
        hard, soft = self.limits.budget_nanousd, self.limits.soft_nanousd
        return soft if hard is None else hard

    @property
    def share(self) -> float:
        """What is spent of the bound; 1 is all of it. A budget of $0 is spent."""
        return self.spent_nanousd / self.bound_nanousd if self.bound_nanousd else 1.0

    @property
    def state(self) -> str:
        """`over`, `near` or `ok`; `near` from the soft bound or from NEAR of the budget on."""
        if self.bound_nanousd is None:
            return "ok"
        if self.share >= 1:
            return "over"
        soft = self.limits.soft_nanousd
        warned = soft is not None and self.spent_nanousd >= soft
        return "near" if warned or self.share >= NEAR else "ok"


def read_allowances(
    reader: UsageReader,
    limits: Iterable[Limits],
    account_ids: frozenset[str] | None,
    now_ms: int,
) -> dict[tuple[Kind, str], Allowance]:
    """Return allowances by kind and id, with one query per kind and period of budgets.

    Of keys, only the spending of `account_ids` is counted; None for all accounts.
    Raises: LedgerUnavailable.
    """
    found = {}
    budgets: defaultdict[tuple[Kind, Period], list[Limits]] = defaultdict(list)
    for it in limits:
        found[it.kind, it.subject_id] = Allowance(it, 0)
        if it.has_budget:
            budgets[it.kind, it.period].append(it)
    for (kind, _), of_period in budgets.items():
        spent = _spent(reader, of_period, account_ids, now_ms)
        for it in of_period:
            found[kind, it.subject_id] = Allowance(it, spent.get(it.subject_id, 0))
    return found


def read_allowance(reader: UsageReader, limits: Limits, now_ms: int) -> Allowance | None:
    """Return one account's or key's allowance; None if it has no budget.

    Raises: LedgerUnavailable.
    """
    if not limits.has_budget:
        return None
    return read_allowances(reader, [limits], None, now_ms)[limits.kind, limits.subject_id]


def by_share(allowances: Iterable[Allowance]) -> list[Allowance]:
    """Return those with a budget, the fullest first."""
    with_budget = [it for it in allowances if it.limits.has_budget]
    return sorted(with_budget, key=lambda it: (-it.share, it.limits.kind, it.limits.subject_id))


def _spent(
    reader: UsageReader, limits: Sequence[Limits], account_ids: frozenset[str] | None, now_ms: int
) -> dict[str | None, int]:
    """Return what the subjects of limits, all of one kind and period, have spent."""
    kind, period = limits[0].kind, limits[0].period
    subjects = frozenset(it.subject_id for it in limits)
    start = period_start(period, now_ms)
    query = UsageQuery(
        start_s=int(start.timestamp()),
        end_s=int(period_end(period, start).timestamp()),
        account_ids=subjects if kind == "account" else account_ids,
        api_key_ids=subjects if kind == "key" else None,
        group_by=(_GROUPS[kind],),
    )
    rows = reader.rows(query)
    return {
        row.account_id if kind == "account" else row.api_key_id: row.cost_nanousd for row in rows
    }
