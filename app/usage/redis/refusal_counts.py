"""RefusalCounts: refused requests on their way from the web processes to the ledger.

    usage:refusals       hash    refusal (JSON) -> requests
    usage:refusals:batch hash    the same, being posted to the ledger; `id` is the batch's
    usage:refusals:of:<process>  string  the last report of a web process; expires

Each step can be repeated without counting a request twice. Does not know the ledger.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from redis import Redis

from app.storage.redis.errors import redis_errors
from app.storage.redis.keys import REFUSALS, REFUSALS_BATCH, REFUSALS_OF
from app.storage.redis.scripts import Argument, Script, read_lua, run
from app.usage.refusal import Refusal

#: How many kinds of refusals wait at most; beyond, they are counted as `other`.
LIMIT = 100_000
#: How long a process may repeat a report, in seconds: longer than an outage of Redis lasts.
REPEAT_S = 7 * 86_400

ADD = Script(read_lua(__package__, "add_refusals"))
TAKE = Script(read_lua(__package__, "take_refusals"))
DROP = Script(read_lua(__package__, "drop_refusals"))

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RefusalBatch:
    """Refusals to post, and the id by which the ledger knows them if they are posted again."""

    batch_id: str
    counts: Mapping[Refusal, int]


class RefusalCounts:
    """The counts in one Redis; every method raises StreamUnavailable if Redis fails."""

    def __init__(self, redis: "Redis") -> None:
        self._redis = redis

    @redis_errors()
    def add(self, process: str, report: int, counts: Mapping[Refusal, int]) -> None:
        """Add a process's report with this number; a repetition of the last one does nothing."""
        args: list[Argument] = [report, REPEAT_S, LIMIT]
        for refusal, number in counts.items():
            args += (refusal.encode(), refusal.other.encode(), number)
        run(self._redis, ADD, [REFUSALS, REFUSALS_OF + process], args)

    @redis_errors()
    def take(self, batch_id: str) -> RefusalBatch | None:
        """Return the batch to post: an earlier one that was not dropped, or a new one of this id.

        None if nothing waits.
        """
        found: Any = run(self._redis, TAKE, [REFUSALS, REFUSALS_BATCH], [batch_id])
        if not found:
            return None
        values = dict(zip(found[::2], found[1::2], strict=True))
        known = values.pop(b"id").decode()
        return RefusalBatch(known, dict(_decoded(values)))

    @redis_errors()
    def drop(self, batch_id: str) -> None:
        """Drop a batch, which is posted, unless another process has done so already."""
        run(self._redis, DROP, [REFUSALS_BATCH], [batch_id])


def _decoded(values: Mapping[bytes, bytes]) -> Any:
    for raw, number in values.items():
        try:
            yield Refusal.decode(raw), int(number)
        except ValueError:
            log.warning("%s refused requests are not counted: a later version wrote them", number)
