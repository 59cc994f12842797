"""The columns of a list of requests in a file, the same on the command line and the dashboard."""

from datetime import UTC, datetime, tzinfo
from typing import Any

from app.ledger.reports.recent import Request
from app.vocabulary.money import dollars

_FIELDS = (
    "request_id",
    "event_id",
    "account_id",
    "api_key_id",
    "user",
    "endpoint",
    "vendor",
    "model",
    "vendor_served",
    "service_tier",
    "status",
    "http_status",
    "error_code",
    "attempts",
    "source",
    "prompt_tokens",
    "completion_tokens",
    "first_token_ms",
    "duration_ms",
)
#: In the order of `request_values`.
REQUEST_COLUMNS = ("started_at", *_FIELDS, "cost_usd")


def request_values(request: Request, zone: tzinfo = UTC) -> dict[str, Any]:
    """Return a request's values by REQUEST_COLUMNS: the start in ISO 8601, the cost in dollars."""
    cost = request.cost_nanousd
    started = datetime.fromtimestamp(request.started_at_ms // 1000, zone)
    return {
        "started_at": started.isoformat(),
        **{name: getattr(request, name) for name in _FIELDS},
        "cost_usd": None if cost is None else dollars(cost),
    }
