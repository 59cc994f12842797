"""How far the ledger is complete, as far as one Redis knows."""

import time

from app.usage.redis.open_records import OpenRecords

#: A Redis command may wait three times: for a free connection, to connect, and for the reply.
_REDIS_WAITS = 3


def complete_until_ms(records: OpenRecords, redis_timeout_s: float) -> float:
    """Return the time before which the ledger has every request of this Redis, in Unix ms.

    What is read from the ledger's primary after this call includes all of them.
    Raises: StreamUnavailable.
    """
    # A request that started up to this long ago may still be writing its open record.
    admitted_ms = (time.time() - _REDIS_WAITS * redis_timeout_s) * 1000
    oldest_ms = records.oldest_started_ms()
    return admitted_ms if oldest_ms is None else min(admitted_ms, oldest_ms)
