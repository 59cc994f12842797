"""Corrections: by how much the ledger has put right what budgets had counted before.

They are written in the transaction that changes or posts the entries, so that none is lost, and
read with what was spent: see `app.admission.spending`. More of them are newer.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import Connection

from app.storage.sql.tables import DAY_S, corrections
from app.storage.sql.transactions import insert
from app.usage.event import UsageEvent

#: The columns of `corrections` that tell one from another, and its sums.
_KEY, _SUMS = corrections.c.keys()[:3], corrections.c.keys()[3:]


class Change(NamedTuple):
    """By how many nano-dollars more, or less, was spent on a day (Unix s) than had been counted."""

    account_id: str
    api_key_id: str
    day_s: int
    added_nanousd: int


def change_of(event: UsageEvent, added_nanousd: int) -> Change:
    """Return that a request costs so much more, or less, than had been counted."""
    day_s = event.started_at_ms // (DAY_S * 1000) * DAY_S
    return Change(event.account_id, event.api_key_id, day_s, added_nanousd)


def correct(connection: Connection, changes: Iterable[Change]) -> None:
    """Write changes down, in the transaction that makes them."""
    added: defaultdict[tuple[str, str, int], list[int]] = defaultdict(list)
    for it in changes:
        if it.added_nanousd:
            added[it.account_id, it.api_key_id, it.day_s].append(it.added_nanousd)
    if not added:
        return
    rows = [
        dict(zip((*_KEY, *_SUMS), (*key, len(added[key]), sum(added[key])), strict=True))
        for key in sorted(added)  # so that no two writers wait for each other in a circle
    ]
    statement = insert(connection, corrections)
    sums = {name: corrections.c[name] + statement.excluded[name] for name in _SUMS}
    connection.execute(statement.on_conflict_do_update(index_elements=_KEY, set_=sums), rows)
