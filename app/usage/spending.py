"""Spending: what the ledger knows to have been spent in a budget's period, remembered for a while.

The ledger lags behind by what waits in Redis; it never says too much, and never forgets.
"""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Engine, func, select

from app.database import reading
from app.errors import LedgerUnavailable
from app.limits import Limits
from app.tables import api_key_accounts, daily_rollups

#: How old an answer of the ledger may be, in seconds: so long may a budget that Redis has forgotten
#: be taken for fuller than it is.
KEPT_S = 60.0

#: Budgets remembered: more than have requests in a minute.
REMEMBERED = 10_000

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class _Memory:
    """What the ledger said, and when it was last asked, in seconds."""

    nanousd: int
    asked_s: float


class Spending:
    """What one process knows of the ledger's sums; threads share it."""

    def __init__(self, engine: Engine, *, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._engine = engine
        self._clock_s = clock_s
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, str, int], _Memory] = OrderedDict()

    def since(self, limits: Limits, start_s: int) -> int:
        """Return the nano-dollars that an account or key has spent since a midnight (UTC, Unix s).

        Where the ledger does not answer, what it said last; before it said anything, 0.
        """
        name = (limits.kind, limits.subject_id, start_s)
        memory, asked_s = self._known.get(name), self._clock_s()
        if memory is not None:
            if asked_s - memory.asked_s < KEPT_S:
                return memory.nanousd
            memory.asked_s = asked_s  # others take it for fresh from here on: one request asks
        try:
            nanousd = self._ask(limits, start_s)
        except LedgerUnavailable as exc:
            nanousd = memory.nanousd if memory else 0
            logger.warning("the budget of %s is held against old figures: %s", limits.subject, exc)
        self._remember(name, _Memory(nanousd, asked_s))
        return nanousd

    def _remember(self, name: tuple[str, str, int], memory: _Memory) -> None:
        with self._lock:
            self._known[name] = memory
            self._known.move_to_end(name)
            if len(self._known) > REMEMBERED:
                self._known.popitem(last=False)

    def _ask(self, limits: Limits, start_s: int) -> int:
        statement = select(func.coalesce(func.sum(daily_rollups.c.cost_nanousd), 0)).where(
            daily_rollups.c.slot_s >= start_s, *_is_of(limits)
        )
        with reading(self._engine) as connection:
            return int(connection.execute(statement).scalar_one())


def _is_of(limits: Limits) -> tuple[ColumnElement[bool], ...]:
    if limits.kind == "account":
        return (daily_rollups.c.account_id == limits.subject_id,)
    # Rollups are found by account: those of the key.
    mine = api_key_accounts.c.key_id == limits.subject_id
    account_ids = select(api_key_accounts.c.account_id).where(mine)
    return (
        daily_rollups.c.account_id.in_(account_ids),
        daily_rollups.c.api_key_id == limits.subject_id,
    )
