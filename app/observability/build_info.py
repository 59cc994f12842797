"""The metric that names the running version."""

from collections.abc import Iterator

from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from app import __version__


class BuildInfo(Collector):
    """`tollgate_build_info`: always 1, with the version as a label, to join with other metrics."""

    def collect(self) -> Iterator[Metric]:
        """Yield the metric."""
        family = GaugeMetricFamily(
            "tollgate_build_info", "1, with Tollgate's version as a label.", labels=["version"]
        )
        family.add_metric([__version__], 1)
        yield family
