"""Spending: what the ledger knows to have been spent in a budget's period, cached for a while.

The ledger lags behind by the events that wait in Redis. It never loses data, and it corrects sums
that were too high: `tollgate prices update`, or a true event that replaces an estimate.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Engine, ScalarSelect, Table, func, select

from app.runtime.cache import Cache
from app.storage.sql.tables import api_key_accounts, corrections, daily_rollups
from app.storage.sql.transactions import reading
from app.vocabulary.errors import LedgerUnavailable
from app.vocabulary.limits import Limits

#: Largest age of a cached sum, in seconds. For as long, a budget that Redis lost may seem to have
#: more left than it has.
CACHE_S = 60.0

#: Largest age of a cached sum by which a request is rejected, in seconds: less than it takes to run
#: a command, and enough that thousands of rejections do not query the ledger each.
CACHE_BEFORE_REJECTION_S = 0.02

#: Cached budgets: more than have requests in a minute.
CACHE_SIZE = 10_000

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class KnownSpending:
    """What the ledger knows of a budget's period: nano-dollars spent, and its corrections.

    `corrections` counts the changes of posted entries, which added `corrected_nanousd` to the sum.
    A higher count is newer; -1 means that the ledger has not answered yet.
    """

    nanousd: int
    corrections: int
    corrected_nanousd: int


NOTHING_YET = KnownSpending(0, -1, 0)


class Spending:
    """One process's cache of the ledger's sums; thread-safe."""

    def __init__(self, engine: Engine, *, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._engine = engine
        self._clock_s = clock_s
        self._cache = Cache[tuple[str, str, int], KnownSpending](CACHE_SIZE)

    def since(self, limits: Limits, start_s: int, max_age_s: float = CACHE_S) -> KnownSpending:
        """Return what an account or key has spent since a midnight (UTC, Unix seconds).

        While the ledger is unavailable, its last answer; if there is none, NOTHING_YET.
        """
        name = (limits.kind, limits.subject_id, start_s)
        cached, now_s = self._cache.get(name), self._clock_s()
        if cached is not None and not cached.is_due(now_s, max_age_s):
            return cached.value
        try:
            known = self._query(limits, start_s)
        except LedgerUnavailable as exc:
            known = cached.value if cached else NOTHING_YET
            logger.warning("the budget of %s is checked with old sums: %s", limits.subject, exc)
        self._cache.put(name, known, now_s)
        return known

    def renew(self, limits: Limits, start_s: int) -> bool:
        """Query the ledger again before a request is rejected; return whether corrections are new.

        At most once per CACHE_BEFORE_REJECTION_S, however many requests are rejected.
        """
        before = self.since(limits, start_s)
        now = self.since(limits, start_s, CACHE_BEFORE_REJECTION_S)
        return now.corrections > before.corrections

    def _query(self, limits: Limits, start_s: int) -> KnownSpending:
        rows, changes = daily_rollups.c, corrections.c
        spent = _sum(rows.cost_nanousd, rows.slot_s >= start_s, *_is_of(limits, daily_rollups))
        of_period = (changes.day_s >= start_s, *_is_of(limits, corrections))
        count = _sum(changes.corrected_requests, *of_period)
        added = _sum(changes.added_nanousd, *of_period)
        # One statement, so that a correction in the meantime is in all of the sums or in none.
        with reading(self._engine) as connection:
            return KnownSpending(*map(int, connection.execute(select(spent, count, added)).one()))


def _sum(column: ColumnElement[int], *of: ColumnElement[bool]) -> ScalarSelect[int]:
    return select(func.coalesce(func.sum(column), 0)).where(*of).scalar_subquery()


def _is_of(limits: Limits, table: Table) -> tuple[ColumnElement[bool], ...]:
    if limits.kind == "account":
        return (table.c.account_id == limits.subject_id,)
    # Rollups are indexed by account, so the key's accounts are looked up.
    mine = api_key_accounts.c.key_id == limits.subject_id
    account_ids = select(api_key_accounts.c.account_id).where(mine)
    return (table.c.account_id.in_(account_ids), table.c.api_key_id == limits.subject_id)
