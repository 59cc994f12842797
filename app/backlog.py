"""What waits between the answers and the ledger, as metrics; looked at when Prometheus asks.

All machines share one Redis, so each of them tells the same of it; the spool is a machine's own.
"""

import time
from collections.abc import Iterator

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from app.errors import StreamUnavailable
from app.services import Services
from app.usage.spool import spooled_bytes


class BacklogCollector(Collector):
    """Reads Redis and the spool at each scrape; without Redis, only says so."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def describe(self) -> Iterator[Metric]:
        """Yield what there may be, without asking anybody."""
        yield _redis_up(0)
        yield from self._redis(0, 0, 0, 0, None)
        yield self._resting()
        yield _spool(0)

    def collect(self) -> Iterator[Metric]:
        """Yield what there is now."""
        stream, records = self._services.stream, self._services.open_records
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
            yield _redis_up(0)
        else:
            yield _redis_up(1)
            yield from found
        yield self._resting()
        yield _spool(spooled_bytes(self._services.settings.spool_dir))

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
            "tollgate_drained_events", "Usage events that workers moved to the ledger.", drained
        )

    def _resting(self) -> Metric:
        family = GaugeMetricFamily(
            "tollgate_vendor_resting",
            "1 for a vendor that rests after failures, and is passed over where there is another.",
            labels=["vendor"],
        )
        resting = self._services.rests.resting()
        for vendor in self._services.vendors.configured():
            family.add_metric([vendor.name], vendor.name in resting)
        return family


def _redis_up(up: int) -> Metric:
    return GaugeMetricFamily("tollgate_redis_up", "Whether Redis answers this machine.", up)


def _spool(size: int) -> Metric:
    return GaugeMetricFamily(
        "tollgate_spool_bytes", "Usage on this machine's disk, since Redis was away.", size
    )
