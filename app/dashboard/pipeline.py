"""Usage that is not in the ledger yet: open requests, the backlog, dead letters, missing events."""

from dataclasses import dataclass

from app.container import services
from app.observability.missing_check import settled
from app.usage.missing import Missing, count_missing
from app.vocabulary.errors import StreamUnavailable


@dataclass(frozen=True, slots=True)
class Pipeline:
    """What Redis has, of all accounts and hosts; `oldest_ms` is the age of the oldest event."""

    events: int
    oldest_ms: int | None
    open_requests: int
    dead_events: int
    missing: tuple[Missing, ...]

    @property
    def missing_requests(self) -> int:
        """How many requests' usage is missing."""
        return count_missing(self.missing)


def read_pipeline(now_s: float) -> Pipeline | None:
    """Return the present state; None while Redis is unavailable."""
    stores = services().stores
    stream, now_ms = stores.events, int(now_s * 1000)
    try:
        oldest_ms = stream.oldest_ms()
        return Pipeline(
            events=stream.backlog(),
            oldest_ms=None if oldest_ms is None else max(0, now_ms - oldest_ms),
            open_requests=stores.records.count(),
            dead_events=stream.dead_count(),
            missing=settled(stores.processes.search(), now_ms),
        )
    except StreamUnavailable:
        return None
