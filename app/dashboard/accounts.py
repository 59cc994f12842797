"""`GET /dashboard/accounts`: accounts and API keys, with their limits and spending."""

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from flask import Response

from app.accounts.accounts import Account
from app.accounts.apikey import ApiKey
from app.container import services
from app.dashboard.aggregates import LABELS
from app.dashboard.sign_in import SessionUser, current_user
from app.dashboard.site import dashboard_blueprint, page
from app.ledger.reports.query import GroupKey, UsageQuery
from app.vocabulary.limits import Kind, Limits, Period, period_end, period_start

_GROUPS: Mapping[Kind, GroupKey] = {"account": "account", "key": "api_key"}


@dataclass(frozen=True, slots=True)
class Allowance:
    """The limits of an account or key, and its spending in the budget's period."""

    limits: Limits
    spent_nanousd: int


@dataclass(frozen=True, slots=True)
class KeyLine:
    """A key as the signed-in user may see it: only with accounts that the user may see."""

    key: ApiKey
    account_ids: tuple[str, ...]
    state: str


@dashboard_blueprint.get("/accounts")
def accounts() -> Response:
    """Show the signed-in user's accounts; an admin sees all accounts."""
    now_ms = int(time.time() * 1000)
    stored = services().accounts
    shown = [it for it in stored.list() if _is_visible(current_user(), it)]
    keys = _key_lines(stored.list_keys(), current_user(), now_ms)
    subjects = {("account", it.account_id) for it in shown}
    subjects |= {("key", line.key.key_id) for line in keys}
    limits = [it for it in stored.list_limits() if (it.kind, it.subject_id) in subjects]
    return page(
        "accounts.html",
        accounts=shown,
        keys=keys,
        allowances=_allowances(limits, current_user().account_ids, now_ms),
    )


def _is_visible(of: SessionUser, account: Account) -> bool:
    return of.account_ids is None or account.account_id in of.account_ids


def _key_lines(keys: Iterable[ApiKey], of: SessionUser, now_ms: int) -> list[KeyLine]:
    lines = []
    for key in keys:
        mine = key.account_ids
        if of.account_ids is not None:
            mine = tuple(it for it in mine if it in of.account_ids)
            if not mine:
                continue
        lines.append(KeyLine(key, mine, key.state(now_ms)))
    return sorted(lines, key=lambda line: (line.state != "active", line.key.created_at_ms))


def _allowances(
    limits: Iterable[Limits], account_ids: frozenset[str] | None, now_ms: int
) -> dict[tuple[Kind, str], Allowance]:
    """Return allowances by kind and id, with one query per kind and period of budgets."""
    found = {}
    budgets: defaultdict[tuple[Kind, Period], list[Limits]] = defaultdict(list)
    for it in limits:
        found[it.kind, it.subject_id] = Allowance(it, 0)
        if it.has_budget:
            budgets[it.kind, it.period].append(it)
    for (kind, period), of_period in budgets.items():
        spent = _spent(kind, period, of_period, account_ids, now_ms)
        for it in of_period:
            found[kind, it.subject_id] = Allowance(it, spent.get(it.subject_id, 0))
    return found


def _spent(
    kind: Kind,
    period: Period,
    limits: Iterable[Limits],
    account_ids: frozenset[str] | None,
    now_ms: int,
) -> dict[str | None, int]:
    subjects = frozenset(it.subject_id for it in limits)
    start = period_start(period, now_ms)
    query = UsageQuery(
        start_s=int(start.timestamp()),
        end_s=int(period_end(period, start).timestamp()),
        account_ids=subjects if kind == "account" else account_ids,
        api_key_ids=subjects if kind == "key" else None,
        group_by=(_GROUPS[kind],),
    )
    rows = services().usage_reader.rows(query)
    return {LABELS[_GROUPS[kind]](row): row.cost_nanousd for row in rows}
