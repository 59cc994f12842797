"""Processes: the web processes that serve, and the numbers of their requests, in Redis.

usage:owner:<id>  string  heartbeat of a live process; expires unless the process renews it
usage:given       hash    process -> the last number that it gave to a request
usage:numbers     hash    process -> the numbers that the ledger has, as ranges (JSON)
usage:missing     string  the numbers that are missing, as a worker last found them (JSON)
usage:epoch       string  a random name of this Redis's data; a new one means that they were lost
"""

import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from redis import Redis

from app.admission.numbering import Numbering
from app.storage.redis.errors import redis_errors
from app.storage.redis.keys import EPOCH, GIVEN, MISSING, NUMBERS_POSTED, OWNER
from app.storage.redis.scripts import EVEN_IF_FULL, Script, read_lua, run
from app.usage.missing import Missing, Search, decode_search, encode_search
from app.usage.numbers import Ranges, decode_ranges, encode_ranges

#: How long a process counts as live after its last heartbeat, and the time between two heartbeats,
#: in seconds.
OWNER_TTL_S = 30
OWNER_RENEWAL_S = 5

HEARTBEAT = Script(EVEN_IF_FULL + read_lua(__package__, "heartbeat"))

#: The values of a heartbeat. A process whose events wait in its spool has numbers that are not
#: missing, and not in Redis.
ALIVE, SPOOLS = b"1", b"spools"


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """What Redis answers to a heartbeat.

    `memory` names the server and its data: another one may have lost some. `known` is the last
    number of the process that Redis knew. `posted` has the processes that were asked about, as far
    as Redis knows them.
    """

    memory: str
    known: int
    missing: tuple[Missing, ...]
    posted: Mapping[str, Ranges]


class Processes:
    """The processes in one Redis; every method raises StreamUnavailable if Redis fails."""

    def __init__(self, redis: "Redis") -> None:
        self._redis = redis

    @redis_errors()
    def heartbeat(
        self, numbering: Numbering, *, spools: bool = False, about: Collection[str] = ()
    ) -> Heartbeat:
        """Mark a process as live for OWNER_TTL_S from now; ask about processes' posted numbers."""
        processes, value = sorted(about), SPOOLS if spools else ALIVE
        keys = [OWNER + numbering.process, GIVEN, EPOCH, MISSING, NUMBERS_POSTED]
        args = (OWNER_TTL_S, value, *numbering.arguments(), secrets.token_hex(8), *processes)
        answer: Any = run(self._redis, HEARTBEAT, keys, args)
        known, memory, missing, posted = answer
        ranges = zip(processes, map(decode_ranges, posted), strict=True)
        search = decode_search(missing)
        return Heartbeat(memory.decode(), known, search.missing if search else (), dict(ranges))

    @redis_errors()
    def given(self) -> dict[str, int]:
        """Return the last number of each process."""
        found: Any = self._redis.hgetall(GIVEN)
        return {process.decode(): int(number) for process, number in found.items()}

    @redis_errors()
    def raise_given(self, process: str, number: int) -> None:
        """Have no later request of a process get a number up to `number`."""
        known: Any = self._redis.hget(GIVEN, process)
        if int(known or 0) < number:
            self._redis.hset(GIVEN, process, number)

    @redis_errors()
    def search(self) -> Search | None:
        """Return what a worker's last search found; None after Redis lost its data."""
        found: Any = self._redis.get(MISSING)
        return decode_search(found)

    @redis_errors()
    def store(self, posted: Mapping[str, Ranges], search: Search) -> None:
        """Tell all processes which numbers the ledger has, and which are missing."""
        with self._redis.pipeline(transaction=False) as pipe:
            for name, ranges in posted.items():
                pipe.hset(NUMBERS_POSTED, name, encode_ranges(ranges))
            pipe.set(MISSING, encode_search(search))
            pipe.execute()

    @redis_errors()
    def forget(self, processes: Collection[str]) -> None:
        """Forget processes that have ended long ago."""
        if processes:
            self._redis.hdel(GIVEN, *processes)
            self._redis.hdel(NUMBERS_POSTED, *processes)
