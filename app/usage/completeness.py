"""How far the ledger is complete, as far as one Redis knows."""

import time

from app.usage.redis.open_records import OpenRecords
from app.usage.redis.processes import Processes

#: A Redis command may wait three times: for a free connection, to connect, and for the reply.
_REDIS_WAITS = 3


def complete_until_ms(
    records: OpenRecords, processes: Processes, redis_timeout_s: float
) -> float | None:
    """Return the time before which the ledger has every request of this Redis, in Unix ms.

    What is read from the ledger's primary after this call includes all of them. None after Redis
    lost its data, until a worker has searched for what is missing. Usage that is missing may still
    come until it is written off, so that the time does not pass it.
    Raises: StreamUnavailable.
    """
    # A request that started up to this long ago may still be writing its open record.
    admitted_ms = (time.time() - _REDIS_WAITS * redis_timeout_s) * 1000
    oldest_ms, search = records.oldest_started_ms(), processes.search()
    if search is None:
        return None
    started_ms = [] if oldest_ms is None else [oldest_ms]
    return min(admitted_ms, search.at_ms, *started_ms, *(gap.from_ms for gap in search.missing))
