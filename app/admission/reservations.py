"""Reservations: what requests under way may still use of their limits, in Redis; the scripts.

A request takes what it may use of all its limits in one step, or of none, together with its open
record; it gives back what it did not use in the step that publishes its event.

    usage:reserved               hash    event id -> what it took: the checks, as JSON
    limits:<whose>:rpm           string  "<used> <at> <limit>": units used of a minute's, when, in
                                         Unix ms, and under which limit
    limits:<whose>:tpm           string  the same
    limits:<whose>:streams       set     event ids of the streams that are open
    limits:<whose>:<day>:<period>  hash  spent, reserved: nano-dollars; warned: soft bound passed;
                                         corrections, corrected: how far it knows the ledger's

Rates are token buckets: a minute's worth fits in, and a unit is 1/60000 of a request or token, so
that `limit` units flow back every millisecond and all numbers are whole. A limit that is changed
counts from the next request on: what was used is brought up to then under the old one, and is then
no more than all of the new one.

Budgets are counted here and compared with the ledger: whichever says more is right, so that a Redis
that has forgotten, or has missed something, learns it again. Only where the ledger has corrected
what it had posted, the same is added here, or taken away, once; and a figure of the ledger's from
before a correction that is known here counts for nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from app.storage.redis.errors import redis_errors
from app.storage.redis.group_commit import GroupCommit
from app.storage.redis.keys import OPEN, RESERVED, STARTED

#: Units of a request or token: milliseconds of a minute.
UNITS = 60_000

#: The largest number that is exact in a script.
EXACT = 2**53 - 1

#: What a state's `soft` says when a soft bound is met for the first time in its period.
FIRST_TIME = 2

#: How much more than reserved a rate may be charged with, in minutes' worth: what a vendor says it
#: has used may be nonsense, and is not to lock an account out for good.
DEBT_LIMIT = 60

#: How long a budget is kept when its period is over, for requests that began in it, in seconds.
AFTERWARDS_S = 2 * 86_400

#: Functions for the scripts below, and for all that end a request. The keys of limits are in what
#: was taken, and so cannot be named beforehand.
LEVELS = f"""
local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local function fill(key, limit, used, now)
  used = math.min(used, limit * {UNITS} * {DEBT_LIMIT})
  if used <= 0 then return redis.call('DEL', key) end
  local text = string.format('%.0f %.0f %.0f', used, now, limit)
  redis.call('SET', key, text, 'PX', math.ceil(used / limit))
end
local function level(key, limit, now)
  local used, at, of = string.match(redis.call('GET', key) or '', '^(%d+) (%d+) (%d+)$')
  if not used then return 0, limit end
  of = tonumber(of)
  return math.max(0, tonumber(used) - math.max(0, now - tonumber(at)) * of), of
end
local function level_under(key, limit, now)
  local used, of = level(key, limit, now)
  if of ~= limit then
    used = math.min(used, limit * {UNITS})
    fill(key, limit, used, now)
  end
  return used
end
local function whole(number) return string.format('%.0f', number) end
"""

#: What is spent of a budget, by what is known here and in the ledger. A budget that knows of no
#: corrections has heard of none; -1 of them is no answer of the ledger's.
BUDGETS = """
local function spent_of(check)
  local known = redis.call('HMGET', check.key, 'spent', 'reserved', 'corrections', 'corrected')
  local spent, corrections = tonumber(known[1] or 0), tonumber(known[3] or 0)
  if check.corrections > corrections then
    spent = math.max(0, spent + check.corrected - tonumber(known[4] or 0))
  end
  if check.corrections >= corrections then
    spent = math.max(spent, check.spent)
  end
  return spent, tonumber(known[2] or 0)
end
local function know(check)
  if check.corrections > tonumber(redis.call('HGET', check.key, 'corrections') or 0) then
    redis.call('HSET', check.key, 'corrections', check.corrections, 'corrected', check.corrected)
  end
end
"""

RELEASE = f"""
{LEVELS}
local function release(reserved, id, tokens, cost)
  local taken = redis.call('HGET', reserved, id)
  if not taken then return 0 end
  redis.call('HDEL', reserved, id)
  local now = now_ms()
  for _, check in ipairs(cjson.decode(taken)) do
    local key, amount = check.key, check.amount
    if check.kind == 'tokens' then
      local used, limit = level(key, check.limit, now) -- the limit may have changed since
      fill(key, limit, used + (tokens - amount) * {UNITS}, now)
    elseif check.kind == 'streams' then
      redis.call('SREM', key, id)
    elseif check.kind == 'budget' and redis.call('EXISTS', key) == 1 then
      redis.call('HINCRBY', key, 'reserved', whole(0 - amount)) -- no "-0"
      redis.call('HINCRBY', key, 'spent', whole(cost))
    end
  end
  return 1
end
"""

#: KEYS: open records, starts, reservations. ARGV: event id, record, start, checks.
#: Answer: whether all fits; then for each check whether it fits, what is used, and what is reserved
#: of that, with what the request took where it was admitted, and whether the soft bound is passed.
ADMIT = f"""
{LEVELS}
{BUDGETS}
local id, checks, now = ARGV[1], cjson.decode(ARGV[4]), now_ms()
local states, all_fit = {{}}, true
for at, check in ipairs(checks) do
  local key, limit, amount = check.key, check.limit, check.amount
  local used, reserved, fits = 0, 0, true
  if check.kind == 'requests' or check.kind == 'tokens' then
    used = level_under(key, limit, now)
    fits = used + amount * {UNITS} <= limit * {UNITS}
  elseif check.kind == 'streams' then
    used = redis.call('SCARD', key)
    fits = used < limit
  else
    used, reserved = spent_of(check)
    fits = limit < 0 or (used < limit and used + reserved + amount <= limit)
  end
  all_fit = all_fit and fits
  states[at] = {{fits and 1 or 0, used, reserved, 0}}
end
if all_fit then
  for at, check in ipairs(checks) do
    local key, limit, amount, state = check.key, check.limit, check.amount, states[at]
    if check.kind == 'requests' or check.kind == 'tokens' then
      state[2] = state[2] + amount * {UNITS}
      fill(key, limit, state[2], now)
    elseif check.kind == 'streams' then
      redis.call('SADD', key, id)
      state[2] = state[2] + 1
    else
      state[3] = state[3] + amount
      redis.call('HSET', key, 'spent', whole(state[2]), 'reserved', whole(state[3]))
      know(check)
      redis.call('EXPIREAT', key, check.ends_s + {AFTERWARDS_S})
      if check.soft >= 0 and state[2] + state[3] > check.soft then
        state[4] = 1 + redis.call('HSETNX', key, 'warned', 1)
      end
    end
  end
  redis.call('HSET', KEYS[3], id, ARGV[4])
  redis.call('HSET', KEYS[1], id, ARGV[2])
  redis.call('ZADD', KEYS[2], ARGV[3], id)
end
local answer = {{all_fit and 1 or 0}}
for _, state in ipairs(states) do
  for _, number in ipairs(state) do answer[#answer + 1] = number end
end
return answer
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One limit that a request must fit in, and how much of it the request takes.

    Units: requests, tokens, streams, or nano-dollars. Of a budget: -1 is no `limit` and no `soft`
    bound, `spent` is what the ledger knows of, after so many `corrections` that added `corrected`;
    `start_s` and `ends_s` are those of its period, in Unix seconds.
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
    """How a check came out. `used` is in UNITS for rates; `reserved` comes on top of it.

    `soft` is 0 where the soft bound is not passed, else 1, or FIRST_TIME.
    """

    fits: bool
    used: int
    reserved: int
    soft: int


@dataclass(frozen=True, slots=True)
class Charge:
    """What a request has used in the end: tokens, and nano-dollars as far as prices are known."""

    tokens: int
    cost_nanousd: int

    def arguments(self) -> tuple[int, int]:
        """Return both, as a script can hold them."""
        return min(self.tokens, EXACT), min(self.cost_nanousd, EXACT)


#: Of a request that failed, or that nobody can read.
NOTHING = Charge(0, 0)


class Reservations:
    """Admits requests, on one Redis."""

    def __init__(self, commit: GroupCommit) -> None:
        self._commit = commit

    @redis_errors()
    def admit(
        self, event_id: str, record: bytes, started_at_ms: int, checks: Sequence[Check]
    ) -> tuple[bool, list[LimitState]]:
        """Open a request's record if it fits in all its limits, and take them; else do nothing.

        Raises: StreamUnavailable.
        """
        taken = orjson.dumps(list(checks))
        args: list[str | bytes | int] = [event_id, record, started_at_ms, taken]
        answer: Any = self._commit.run(ADMIT, [OPEN, STARTED, RESERVED], args)
        admitted, *numbers = answer
        rows = (numbers[at : at + 4] for at in range(0, len(numbers), 4))
        return bool(admitted), [LimitState(bool(fits), *rest) for fits, *rest in rows]
