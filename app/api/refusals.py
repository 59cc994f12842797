"""`GET /v5/organization/usage/refusals`: requests that were refused before any vendor was called.

In the shape of OpenAI's usage API, which has no such endpoint.
"""

from typing import Any

from flask import Blueprint, Response, request

from app.api.auth import authenticate
from app.api.schemas.usage_params import REFUSAL_GROUPS, load_refusals_params
from app.api.usage_pages import UsageReport, group_cells, respond
from app.ledger.reports.refusals import RefusalReader, RefusalRow
from app.ledger.reports.source import ReportSource

refusals_blueprint = Blueprint("refusals", __name__)


@refusals_blueprint.get("/v5/organization/usage/refusals")
def refused_requests() -> Response:
    """Return refused requests per bucket."""
    key = authenticate("usage", "admin")
    return respond(_REFUSALS, load_refusals_params(request.args), key)


def _result(row: RefusalRow, _group_by: frozenset[str]) -> dict[str, Any]:
    return {
        "object": "organization.usage.refusals.result",
        "num_refused_requests": row.requests,
        "project_id": row.account_id,
        "api_key_id": row.api_key_id,
        "endpoint": row.endpoint,
        "reason": row.reason,
    }


def _cells(row: RefusalRow, group_by: frozenset[str]) -> dict[str, Any]:
    groups = group_cells(_result(row, group_by), group_by)
    return groups | {"num_refused_requests": row.requests}


def _reader(source: ReportSource) -> RefusalReader:
    return source.refusals


_REFUSALS = UsageReport(
    "refusals",
    REFUSAL_GROUPS,
    _result,
    _cells,
    _reader,
    RefusalRow(requests=0),
    is_usage=False,
)
