"""`GET /metrics`, in Prometheus's text format."""

from flask import Blueprint, Response
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, generate_latest

from app.container import services
from app.observability.build_info import BuildInfo

metrics_blueprint = Blueprint("metrics", __name__)


@metrics_blueprint.get("/metrics")
def metrics() -> Response:
    """Return this host's counters, and the backlog that all hosts share."""
    registry = CollectorRegistry()
    registry.register(services().metrics.collector())
    registry.register(services().backlog)
    registry.register(services().budgets)
    registry.register(BuildInfo())
    return Response(generate_latest(registry), content_type=CONTENT_TYPE_PLAIN_0_0_4)
