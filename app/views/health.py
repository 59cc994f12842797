"""Liveness and readiness. Neither asks a vendor: their outages are not ours."""

from collections.abc import Callable

from flask import Blueprint

from app.database import schema_is_current
from app.errors import LedgerUnavailable, Unavailable
from app.services import services

health_blueprint = Blueprint("health", __name__)


@health_blueprint.get("/livez")
def livez() -> dict[str, str]:
    """Say that the process answers; it checks nothing."""
    return {"status": "ok"}


@health_blueprint.get("/readyz")
def readyz() -> tuple[dict[str, str], int]:
    """Return 503 until what every request needs answers: Redis, and the ledger's schema."""
    report = {"redis": _probe(services().stream.backlog), "ledger": _probe(_check_ledger)}
    return report, 200 if set(report.values()) == {"ok"} else 503


def _probe(check: Callable[[], object]) -> str:
    try:
        check()
    except Unavailable as exc:
        return exc.message
    return "ok"


def _check_ledger() -> None:
    if not schema_is_current(services().engine):
        raise LedgerUnavailable("The ledger's schema is not current: run `tollgate db upgrade`.")
