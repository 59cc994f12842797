"""How far the ledger is complete, as far as one Redis knows."""

from app.usage.redis.open_records import OpenRecords
from app.usage.redis.processes import Processes


def complete_until_ms(records: OpenRecords, processes: Processes) -> float | None:
    """Return the time before which the ledger has every request of this Redis, in Unix ms.

    What is read from the ledger's primary after this call includes all of them. None after Redis
    lost its data, until a worker has searched for what is missing. Usage that is missing may still
    come until it is written off, so that the time does not pass it.
    Raises: StreamUnavailable.
    """
    oldest_ms, search = records.oldest_started_ms(), processes.search()
    if search is None:
        return None
    started_ms = [] if oldest_ms is None else [oldest_ms]
    return min([search.until_ms, *started_ms, *(gap.from_ms for gap in search.missing)])
