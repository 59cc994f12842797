"""Reservations: what running requests may still use of their limits, in Redis.

In one atomic step, a request reserves what it may use of all its limits, or of none, together with
its open record. The step that publishes its event replaces the reservation by what it used.

    usage:reserved               hash    event id -> what the request reserved: the checks, as JSON
    limits:<subject>:rpm         string  "<used> <at> <limit>": units used of one minute's worth,
                                         when (Unix ms), and under which limit
    limits:<subject>:tpm         string  the same, for tokens
    limits:<subject>:streams     set     event ids of the open streams
    limits:<subject>:<day>:<period>  hash  spent, reserved: nano-dollars; warned: the soft bound was
                                         passed; corrections, corrected: how many of the ledger's
                                         corrections are included, and their sum

Rates are token buckets that hold one minute's worth. A unit is 1/60000 of a request or token, so
that `limit` units flow back in every millisecond and all numbers are whole. A changed limit takes
effect with the next request: usage is brought up to that moment under the old limit, and is then at
most all of the new one.

A budget's spending is counted here and compared with the ledger's sum, and the higher one counts,
so that a Redis that lost data learns the sum again. If the ledger corrects posted entries, its
correction is applied here once, and sums from before a correction that is known here are ignored.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import orjson

from app.admission.numbering import Opening
from app.storage.redis.errors import redis_errors
from app.storage.redis.group_commit import GroupCommit
from app.storage.redis.keys import GIVEN, OPEN, RESERVED, STARTED
from app.storage.redis.scripts import EVEN_IF_FULL, Script, read_lua

#: Units per request or token: the milliseconds in a minute.
UNITS = 60_000

#: The largest integer that is exact in a script.
EXACT = 2**53 - 1

#: A state's `soft` if its soft bound is passed for the first time in the period.
FIRST_TIME = 2

#: The most that a rate may be overdrawn, in minutes' worth: a vendor may report an absurd usage,
#: which must not lock an account out for good.
DEBT_LIMIT = 60

#: How long a budget is kept after its period, for requests that started in it, in seconds.
AFTERWARDS_S = 2 * 86_400

#: What every script that opens a request starts with: the function `open_request`.
OPEN_REQUEST = read_lua(__package__, "open_request")

#: What every script that ends a request starts with: the function `release`.
RELEASE = read_lua(__package__, "levels", "release", UNITS=UNITS, DEBT_LIMIT=DEBT_LIMIT)

ADMIT = Script(
    read_lua(
        __package__,
        "levels",
        "budgets",
        "open_request",
        "admit",
        UNITS=UNITS,
        DEBT_LIMIT=DEBT_LIMIT,
        AFTERWARDS_S=AFTERWARDS_S,
    )
)
#: The keys of limits are bounded: five for each account and API key, and what requests in flight
#: reserve.
ADMIT_EVEN_IF_FULL = Script(EVEN_IF_FULL + ADMIT.source)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One limit that a request must fit in, and how much of it the request may use.

    Units of `limit` and `amount`: requests, tokens, streams or nano-dollars, by `kind`.
    The other fields are a budget's. `limit` or `soft` is -1 if the budget has no such bound.
    `spent` is the ledger's sum after `corrections` corrections, which added `corrected`; both in
    nano-dollars. `start_s` and `ends_s` are the bounds of its period, in Unix seconds.
    """

    kind: Literal["requests", "tokens", "streams", "budget"]
    key: str
    limit: int
    amount: int
    spent: int = 0
    corrections: int = 0
    corrected: int = 0
    soft: int = -1
    start_s: int = 0
    ends_s: int = 0


@dataclass(frozen=True, slots=True)
class LimitState:
    """The result of a check. `used` is in UNITS for rates; `reserved` is not included in it.

    `soft` is 0 if the soft bound is not passed, FIRST_TIME if this request passes it first, else 1.
    """

    fits: bool
    used: int
    reserved: int
    soft: int


@dataclass(frozen=True, slots=True)
class Charge:
    """What a request used: tokens, and nano-dollars as far as prices are known."""

    tokens: int
    cost_nanousd: int

    def arguments(self) -> tuple[int, int]:
        """Return tokens and cost as script arguments, at most EXACT."""
        return min(self.tokens, EXACT), min(self.cost_nanousd, EXACT)


#: The charge of a request that failed, or whose record cannot be decoded.
NOTHING = Charge(0, 0)


class Reservations:
    """Admits requests against the limits in one Redis.

    `even_if_full`: also if Redis has reached its memory limit. Its events then go elsewhere.
    """

    def __init__(self, commit: GroupCommit, *, even_if_full: bool = True) -> None:
        self._commit = commit
        self._script = ADMIT_EVEN_IF_FULL if even_if_full else ADMIT

    @redis_errors()
    def admit(self, opening: Opening, checks: Sequence[Check]) -> tuple[int, list[LimitState]]:
        """Open a request's record and reserve its checks if all of them fit, else change nothing.

        Returns the request's number, or 0 if it was rejected, and a state for each check.
        Raises: StreamUnavailable.
        """
        encoded = orjson.dumps(list(checks))
        number, *figures = self._commit.run(
            self._script,
            [OPEN, STARTED, RESERVED, GIVEN],
            lambda: (*opening.arguments(), encoded),
            lambda answer: opening.opened(answer[0]) if answer[0] else None,
        )
        rows = (figures[at : at + 4] for at in range(0, len(figures), 4))
        return number, [LimitState(bool(fits), *rest) for fits, *rest in rows]
