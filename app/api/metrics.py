"""`GET /metrics`: what Prometheus scrapes, in its text format."""

from flask import Blueprint, Response
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, generate_latest

from app.container import services

metrics_blueprint = Blueprint("metrics", __name__)


@metrics_blueprint.get("/metrics")
def metrics() -> Response:
    """Show this machine's counts, and what waits between all machines and the ledger."""
    registry = CollectorRegistry()
    registry.register(services().metrics.collector())
    registry.register(services().backlog)
    return Response(generate_latest(registry), content_type=CONTENT_TYPE_PLAIN_0_0_4)
