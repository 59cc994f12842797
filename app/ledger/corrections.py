"""Corrections: changes of a cost that budgets have already counted.

A correction is written in the transaction that changes or posts its entries.
`app.admission.spending` reads corrections together with the totals that they correct.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import Connection

from app.storage.sql.tables import DAY_S, corrections
from app.storage.sql.transactions import insert
from app.usage.messages.event import UsageEvent

#: The key columns of `corrections`, and its summed columns.
_KEY, _SUMS = corrections.c.keys()[:3], corrections.c.keys()[3:]


class Change(NamedTuple):
    """A change of the cost that was counted for a key and a day.

    Units: `day_s` is the start of the day in Unix seconds, UTC; `added_nanousd` is negative if the
    cost has decreased.
    """

    account_id: str
    api_key_id: str
    day_s: int
    added_nanousd: int


def change_of(event: UsageEvent, added_nanousd: int) -> Change:
    """Return a change of one request's cost, on the day that the request started."""
    day_s = event.started_at_ms // (DAY_S * 1000) * DAY_S
    return Change(event.account_id, event.api_key_id, day_s, added_nanousd)


def correct(connection: Connection, changes: Iterable[Change]) -> None:
    """Add changes to the corrections, in the transaction that makes them; skip changes of 0."""
    added: defaultdict[tuple[str, str, int], list[int]] = defaultdict(list)
    for it in changes:
        if it.added_nanousd:
            added[it.account_id, it.api_key_id, it.day_s].append(it.added_nanousd)
    if not added:
        return
    rows = [
        dict(zip((*_KEY, *_SUMS), (*key, len(added[key]), sum(added[key])), strict=True))
        for key in sorted(added)  # all writers lock rows in one order, to avoid deadlocks
    ]
    statement = insert(connection, corrections)
    sums = {name: corrections.c[name] + statement.excluded[name] for name in _SUMS}
    connection.execute(statement.on_conflict_do_update(index_elements=_KEY, set_=sums), rows)
