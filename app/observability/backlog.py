"""Metrics of the usage that the ledger does not have yet, read at each scrape.

All hosts share one Redis and one ledger, so all of them report the same values. The spool is the
host's own.
"""

import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from app.ledger.reports.query import UsageQuery
from app.ledger.reports.reader import UsageReader
from app.ledger.slots import SLOT_S, floor_to
from app.observability.missing_check import settled
from app.serving.circuit_breaker import CircuitBreaker
from app.usage.disk.spool import spool_fault, spooled_bytes
from app.usage.disk.spool_disk import free_bytes
from app.usage.missing import Missing, count_missing
from app.usage.redis.stores import Stores
from app.vendors.table import VendorTable
from app.vocabulary.errors import LedgerUnavailable, StreamUnavailable

#: How far back requests without a price are counted, in seconds.
UNPRICED_S = 3600


@dataclass(frozen=True, slots=True)
class BacklogCollector(Collector):
    """Reads Redis, the ledger and the spool at each scrape.

    If Redis or the ledger is unavailable, its `up` metric is 0, and its other metrics are absent.
    """

    stores: Stores
    usage_reader: UsageReader
    circuit_breaker: CircuitBreaker
    vendors: VendorTable
    spool_dir: Path

    def describe(self) -> Iterator[Metric]:
        """Yield all families with empty values, without reading anything."""
        yield _redis_up(0)
        yield from self._redis(0, 0, 0, 0, None)
        yield _missing(())
        yield _ledger_up(0)
        yield _unpriced(0)
        yield _circuit_open()
        yield from _spool(0, 0, True)

    def collect(self) -> Iterator[Metric]:
        """Yield the current values."""
        stream, records = self.stores.events, self.stores.records
        try:
            found = list(
                self._redis(
                    stream.backlog(),
                    records.count(),
                    stream.dead_count(),
                    stream.posted(),
                    stream.oldest_ms(),
                )
            )
            found.append(_missing(settled(self.stores.processes.search(), _now_ms())))
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
        yield self._circuits()
        size, free = spooled_bytes(self.spool_dir), free_bytes(self.spool_dir)
        yield from _spool(size, free, spool_fault(self.spool_dir) is None)

    def _redis_takes_writes(self) -> bool:
        try:
            self.stores.events.check_write()
        except StreamUnavailable:
            return False
        return True

    @staticmethod
    def _redis(
        backlog: int, opened: int, dead: int, posted: int, oldest_ms: int | None
    ) -> Iterator[Metric]:
        age_s = 0.0 if oldest_ms is None else max(0.0, time.time() - oldest_ms / 1000)
        yield GaugeMetricFamily(
            "tollgate_backlog_events", "Usage events that are not in the ledger yet.", backlog
        )
        yield GaugeMetricFamily(
            "tollgate_backlog_oldest_seconds", "Age of the oldest of these events.", age_s
        )
        yield GaugeMetricFamily("tollgate_open_records", "Requests in flight on all hosts.", opened)
        yield GaugeMetricFamily(
            "tollgate_dead_events", "Usage events that could not be posted (dead letters).", dead
        )
        yield CounterMetricFamily(
            "tollgate_posted_events", "Usage events that workers have posted to the ledger.", posted
        )

    def _circuits(self) -> Metric:
        family, open_circuits = _circuit_open(), self.circuit_breaker.open_circuits()
        for vendor in self.vendors.configured():
            family.add_metric([vendor.name], vendor.name in open_circuits)
        return family

    def _unpriced_requests(self) -> int:
        now_s = int(time.time())
        query = UsageQuery(
            # Whole slots, which rollups can answer.
            start_s=floor_to(now_s - UNPRICED_S, SLOT_S),
            end_s=floor_to(now_s, SLOT_S) + SLOT_S,
            bucket_s=None,
            group_by=(),
        )
        return sum(row.unpriced_requests for row in self.usage_reader.rows(query))


def _redis_up(up: int) -> Metric:
    return GaugeMetricFamily(
        "tollgate_redis_up", "1 if Redis accepts writes from this host, otherwise 0.", up
    )


def _ledger_up(up: int) -> Metric:
    return GaugeMetricFamily(
        "tollgate_ledger_up", "1 if the ledger is available to this host, otherwise 0.", up
    )


def _unpriced(requests: int) -> Metric:
    return GaugeMetricFamily(
        "tollgate_unpriced_requests",
        "Requests of the last hour in the ledger without a known price.",
        requests,
    )


def _circuit_open() -> GaugeMetricFamily:
    return GaugeMetricFamily(
        "tollgate_vendor_circuit_open",
        "1 if the vendor's circuit is open after failures, otherwise 0.",
        labels=["vendor"],
    )


def _missing(missing: Collection[Missing]) -> Metric:
    family = GaugeMetricFamily(
        "tollgate_missing_events",
        "Requests whose usage is nowhere, by the web process that served them.",
        labels=["process"],
    )
    for process in sorted({it.process for it in missing}):
        found = [it for it in missing if it.process == process]
        family.add_metric([process], count_missing(found))
    return family


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _spool(size: int, free: int | None, usable: bool) -> Iterator[Metric]:
    yield GaugeMetricFamily(
        "tollgate_spool_bytes",
        "Bytes of usage in this host's spool, written while Redis was unavailable.",
        size,
    )
    yield GaugeMetricFamily(
        "tollgate_spool_usable", "1 if this host's spool can be written, otherwise 0.", usable
    )
    if free is not None:
        yield GaugeMetricFamily(
            "tollgate_spool_free_bytes", "Bytes free on the disk of this host's spool.", free
        )
