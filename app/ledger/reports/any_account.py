"""Reads the rollups of all accounts in a short time without reading those of all times.

The keys of rollups begin with the account, and a ledger has rollups of years.
"""

from functools import cache

import sqlalchemy as sa
from sqlalchemy import ColumnElement, func, select

from app.ledger.reports.slices import TableSlice

#: Slots up to which it is faster to look at one account after another.
FEW_SLOTS = 100


def of_any_account(part: TableSlice) -> tuple[ColumnElement[bool], ...]:
    """Return a condition that each rollup of a slice meets, which has the index used.

    () for many slots: reading the whole table is faster then.
    """
    slots = len(part.slots_s) or -(-(part.end_s - part.start_s) // part.width_s)
    if slots > FEW_SLOTS:
        return ()
    return (part.table.c.account_id.in_(_accounts_of(part.table)),)


@cache
def _accounts_of(table: sa.Table) -> sa.Select[str]:
    """Return a SELECT of the accounts in a table, each found in the index as the next one."""
    first, next_ = table.alias(), table.alias()
    found = select(func.min(first.c.account_id).label("account_id"))
    known = found.cte(f"accounts_of_{table.name}", recursive=True)
    following = select(func.min(next_.c.account_id)).where(next_.c.account_id > known.c.account_id)
    one = select(following.correlate(known).scalar_subquery())
    known = known.union_all(one.where(known.c.account_id.is_not(None)))
    return select(known.c.account_id).where(known.c.account_id.is_not(None))
