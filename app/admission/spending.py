"""Spending: what the ledger knows to have been spent in a budget's period, remembered for a while.

The ledger lags behind by what waits in Redis; it never forgets, and what it said too much it
corrects: `tollgate prices update`, or a true event in the place of an estimate.
"""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Engine, ScalarSelect, Table, func, select

from app.storage.sql.database import reading
from app.storage.sql.tables import api_key_accounts, corrections, daily_rollups
from app.vocabulary.errors import LedgerUnavailable
from app.vocabulary.limits import Limits

#: How old an answer of the ledger may be, in seconds: so long may a budget that Redis has forgotten
#: be taken for fuller than it is.
KEPT_S = 60.0

#: How old it may be where a request is about to be refused by it, in seconds: less than it takes to
#: run a command, and enough to keep a ledger from being asked for each of thousands of refusals.
KEPT_BEFORE_REFUSAL_S = 0.02

#: Budgets remembered: more than have requests in a minute.
REMEMBERED = 10_000

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class KnownSpending:
    """What the ledger knows of a budget's period: nano-dollars spent, and of that, how many changes
    of what had been posted before, which added how many nano-dollars, or took them away.

    More `corrections` are newer; -1 says that the ledger has not answered yet.
    """

    nanousd: int
    corrections: int
    corrected_nanousd: int


NOTHING_YET = KnownSpending(0, -1, 0)


@dataclass(slots=True)
class _Memory:
    """What the ledger said, and when it was last asked, in seconds."""

    known: KnownSpending
    asked_s: float


class Spending:
    """What one process knows of the ledger's sums; threads share it."""

    def __init__(self, engine: Engine, *, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._engine = engine
        self._clock_s = clock_s
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, str, int], _Memory] = OrderedDict()

    def since(self, limits: Limits, start_s: int, kept_s: float = KEPT_S) -> KnownSpending:
        """Return what an account or key has spent since a midnight (UTC, Unix s).

        Where the ledger does not answer, what it said last; before it said anything, NOTHING_YET.
        """
        name = (limits.kind, limits.subject_id, start_s)
        memory, asked_s = self._known.get(name), self._clock_s()
        if memory is not None:
            if asked_s - memory.asked_s < kept_s:
                return memory.known
            memory.asked_s = asked_s  # others take it for fresh from here on: one request asks
        try:
            known = self._ask(limits, start_s)
        except LedgerUnavailable as exc:
            known = memory.known if memory else NOTHING_YET
            logger.warning("the budget of %s is held against old figures: %s", limits.subject, exc)
        self._remember(name, _Memory(known, asked_s))
        return known

    def renew(self, limits: Limits, start_s: int) -> bool:
        """Ask the ledger again, before a request is refused; return whether it has been corrected.

        Not more often than KEPT_BEFORE_REFUSAL_S, however many are refused.
        """
        before = self.since(limits, start_s)
        now = self.since(limits, start_s, KEPT_BEFORE_REFUSAL_S)
        return now.corrections > before.corrections

    def _remember(self, name: tuple[str, str, int], memory: _Memory) -> None:
        with self._lock:
            self._known[name] = memory
            self._known.move_to_end(name)
            if len(self._known) > REMEMBERED:
                self._known.popitem(last=False)

    def _ask(self, limits: Limits, start_s: int) -> KnownSpending:
        rows, changes = daily_rollups.c, corrections.c
        spent = _sum(rows.cost_nanousd, rows.slot_s >= start_s, *_is_of(limits, daily_rollups))
        of_period = (changes.day_s >= start_s, *_is_of(limits, corrections))
        count = _sum(changes.corrected_requests, *of_period)
        added = _sum(changes.added_nanousd, *of_period)
        # One statement: what is corrected meanwhile is in all of the sums or in none.
        with reading(self._engine) as connection:
            return KnownSpending(*map(int, connection.execute(select(spent, count, added)).one()))


def _sum(column: ColumnElement[int], *of: ColumnElement[bool]) -> ScalarSelect[int]:
    return select(func.coalesce(func.sum(column), 0)).where(*of).scalar_subquery()


def _is_of(limits: Limits, table: Table) -> tuple[ColumnElement[bool], ...]:
    if limits.kind == "account":
        return (table.c.account_id == limits.subject_id,)
    # Rollups are found by account: those of the key.
    mine = api_key_accounts.c.key_id == limits.subject_id
    account_ids = select(api_key_accounts.c.account_id).where(mine)
    return (table.c.account_id.in_(account_ids), table.c.api_key_id == limits.subject_id)
