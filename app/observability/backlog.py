"""What waits between the answers and the ledger, as metrics; looked at when Prometheus asks.

All machines share one Redis and one ledger, so each of them tells the same of these; the spool is a
machine's own.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from app.ledger.reports.buckets import floor_to
from app.ledger.reports.query import SLOT_S, UsageQuery, UsageReader
from app.serving.circuit_breaker import CircuitBreaker
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.stream import EventStream
from app.usage.spool import spooled_bytes
from app.vendors.table import VendorTable
from app.vocabulary.errors import LedgerUnavailable, StreamUnavailable

#: How far back requests without a price are looked for, in seconds.
UNPRICED_S = 3600


@dataclass(frozen=True, slots=True)
class BacklogCollector(Collector):
    """Reads Redis, the ledger and the spool at each scrape; of what is away, it says only that."""

    stream: EventStream
    open_records: OpenRecords
    usage_reader: UsageReader
    circuit_breaker: CircuitBreaker
    vendors: VendorTable
    spool_dir: Path

    def describe(self) -> Iterator[Metric]:
        """Yield what there may be, without asking anybody."""
        yield _redis_up(0)
        yield from self._redis(0, 0, 0, 0, None)
        yield _ledger_up(0)
        yield _unpriced(0)
        yield _resting()
        yield _spool(0)

    def collect(self) -> Iterator[Metric]:
        """Yield what there is now."""
        stream, records = self.stream, self.open_records
        try:
            found = list(
                self._redis(
                    stream.backlog(),
                    records.count(),
                    stream.dead_count(),
                    stream.drained(),
                    stream.oldest_ms(),
                )
            )
        except StreamUnavailable:
            found = []
        yield _redis_up(self._redis_takes_writes())
        yield from found
        try:
            unpriced = self._unpriced_requests()
        except LedgerUnavailable:
            yield _ledger_up(0)
        else:
            yield _ledger_up(1)
            yield _unpriced(unpriced)
        yield self._resting()
        yield _spool(spooled_bytes(self.spool_dir))

    def _redis_takes_writes(self) -> bool:
        try:
            self.stream.check_write()
        except StreamUnavailable:
            return False
        return True

    @staticmethod
    def _redis(
        backlog: int, opened: int, dead: int, drained: int, oldest_ms: int | None
    ) -> Iterator[Metric]:
        age_s = 0.0 if oldest_ms is None else max(0.0, time.time() - oldest_ms / 1000)
        yield GaugeMetricFamily(
            "tollgate_backlog_events", "Usage events that the ledger does not have yet.", backlog
        )
        yield GaugeMetricFamily(
            "tollgate_backlog_oldest_seconds", "How long the oldest of them has waited.", age_s
        )
        yield GaugeMetricFamily(
            "tollgate_open_records", "Requests of all machines that have not ended.", opened
        )
        yield GaugeMetricFamily(
            "tollgate_dead_events", "Usage events that the ledger could not take.", dead
        )
        yield CounterMetricFamily(
            "tollgate_posted_events", "Usage events that workers moved to the ledger.", drained
        )

    def _resting(self) -> Metric:
        family, resting = _resting(), self.circuit_breaker.resting()
        for vendor in self.vendors.configured():
            family.add_metric([vendor.name], vendor.name in resting)
        return family

    def _unpriced_requests(self) -> int:
        now_s = int(time.time())
        query = UsageQuery(
            # Whole slots, which the rollups answer.
            start_s=floor_to(now_s - UNPRICED_S, SLOT_S),
            end_s=floor_to(now_s, SLOT_S) + SLOT_S,
            bucket_s=None,
            group_by=(),
        )
        return sum(row.unpriced_requests for row in self.usage_reader.rows(query))


def _redis_up(up: int) -> Metric:
    return GaugeMetricFamily(
        "tollgate_redis_up", "Whether Redis takes what this machine writes.", up
    )


def _ledger_up(up: int) -> Metric:
    return GaugeMetricFamily("tollgate_ledger_up", "Whether the ledger answers this machine.", up)


def _unpriced(requests: int) -> Metric:
    return GaugeMetricFamily(
        "tollgate_unpriced_requests",
        "Requests of the last hour in the ledger that no price is known for.",
        requests,
    )


def _resting() -> GaugeMetricFamily:
    return GaugeMetricFamily(
        "tollgate_vendor_circuit_open",
        "1 for a vendor that rests after failures, and is passed over where there is another.",
        labels=["vendor"],
    )


def _spool(size: int) -> Metric:
    return GaugeMetricFamily(
        "tollgate_spool_bytes", "Usage on this machine's disk, since Redis was away.", size
    )
