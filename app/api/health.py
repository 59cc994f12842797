"""Liveness and readiness. Neither asks a vendor: their outages are not ours."""

from collections.abc import Callable
from typing import Any

from flask import Blueprint

from app.container import services
from app.storage.sql.migrations import schema_is_current
from app.vocabulary.errors import LedgerUnavailable, Unavailable

health_blueprint = Blueprint("health", __name__)


@health_blueprint.get("/livez")
def livez() -> dict[str, str]:
    """Say that the process answers; it checks nothing."""
    return {"status": "ok"}


@health_blueprint.get("/readyz")
def readyz() -> tuple[dict[str, Any], int]:
    """Return 503 while requests cannot be served, and what wants a person in any case.

    Without Redis, requests are served where the settings say so and the spool takes their usage;
    but not before Redis has answered once, since its address may be wrong.
    """
    ledger, report = _probe(_check_ledger), services().alarms.check()
    serves = (
        services().settings.on_redis_down == "serve"
        and services().alarms.redis_was_up
        and report.spool_is_usable
    )
    is_ready = ledger == "ok" and (report.redis_is_up or serves)
    body = {
        "status": "ready" if is_ready else "not ready",
        "redis": "ok" if report.redis_is_up else report.alarms["redis"],
        "ledger": ledger,
        "backlog": report.backlog,
        "oldest_event_age_s": report.oldest_event_age_s,
        "dead": report.dead,
        "spool_bytes": report.spool_bytes,
        "alarms": report.alarms,
    }
    return body, 200 if is_ready else 503


def _probe(check: Callable[[], object]) -> str:
    try:
        check()
    except Unavailable as exc:
        return exc.message
    return "ok"


def _check_ledger() -> None:
    if not schema_is_current(services().engine):
        raise LedgerUnavailable("The ledger's schema is not current: run `tollgate db upgrade`.")
