"""OpenAI's usage and cost API over the ledger. Its projects are Tollgate's accounts."""

from typing import Any

import orjson
from flask import Blueprint, Response, request

from app.api.auth import authenticate
from app.api.schemas.usage_params import COST_GROUPS, GROUPS, load_costs_params, load_usage_params
from app.api.usage_pages import UsageReport, group_cells, respond
from app.ledger.reports.query import UsageRow
from app.ledger.reports.reader import UsageReader
from app.ledger.reports.source import ReportSource
from app.vocabulary.completion import Usage
from app.vocabulary.money import dollars

usage_blueprint = Blueprint("usage", __name__)


@usage_blueprint.get("/v5/organization/usage/completions")
def completions_usage() -> Response:
    """Return tokens and requests per bucket."""
    key = authenticate("usage", "admin")
    return respond(_USAGE, load_usage_params(request.args), key)


@usage_blueprint.get("/v5/organization/costs")
def costs() -> Response:
    """Return costs per day."""
    key = authenticate("usage", "admin")
    return respond(_COSTS, load_costs_params(request.args), key)


def _usage_result(row: UsageRow, group_by: frozenset[str]) -> dict[str, Any]:
    return {
        "object": "organization.usage.completions.result",
        **_usage_counts(row),
        "project_id": row.account_id,
        "user_id": row.user,
        "api_key_id": row.api_key_id,
        "model": f"{row.vendor}/{row.model}" if "model" in group_by else None,
        "endpoint": row.endpoint,
        "batch": None,
        "service_tier": None,
        "api_source": "unlabeled" if "api_source" in group_by else None,
    }


def _usage_counts(row: UsageRow) -> dict[str, int]:
    usage = row.usage
    return {
        "input_tokens": usage.prompt_tokens,
        "output_tokens": usage.completion_tokens,
        "input_cached_tokens": usage.cached_tokens,
        "input_cache_write_tokens": usage.cache_write_tokens,
        "input_uncached_tokens": max(
            0, usage.prompt_tokens - usage.cached_tokens - usage.cache_write_tokens
        ),
        "input_audio_tokens": usage.audio_prompt_tokens,
        "output_audio_tokens": usage.audio_completion_tokens,
        "input_image_tokens": usage.image_prompt_tokens,
        "output_image_tokens": usage.image_completion_tokens,
        "input_cache_write_1h_tokens": usage.cache_write_1h_tokens,
        "web_search_calls": usage.web_search_calls,
        "num_model_requests": row.requests,
        "failed_requests": row.failed_requests,
    }


def _usage_cells(row: UsageRow, group_by: frozenset[str]) -> dict[str, Any]:
    return group_cells(_usage_result(row, group_by), group_by) | _usage_counts(row)


def _costs_result(row: UsageRow, group_by: frozenset[str]) -> dict[str, Any]:
    """Return OpenAI's shape, and the number of requests without a known price.

    The amount leaves these out. It is null if it would be 0 for that reason.
    """
    by_line = "line_item" in group_by
    amount = _amount(row)
    return {
        "object": "organization.costs.result",
        # Written as a decimal: a float would lose nano-dollars of large sums.
        "amount": {"value": amount and orjson.Fragment(amount), "currency": "usd"},
        "line_item": f"{row.vendor}/{row.model}" if by_line else None,
        "project_id": row.account_id,
        "user_id": row.user,
        "api_key_id": row.api_key_id,
        "endpoint": row.endpoint,
        "api_source": "unlabeled" if "api_source" in group_by else None,
        "quantity": row.usage.total_tokens if by_line else None,
        "quantity_unit": "tokens" if by_line else None,
        "unpriced_requests": row.unpriced_requests,
    }


def _costs_cells(row: UsageRow, group_by: frozenset[str]) -> dict[str, Any]:
    return group_cells(_costs_result(row, group_by), group_by) | {
        "amount_usd": _amount(row),
        "tokens": row.usage.total_tokens,
        "unpriced_requests": row.unpriced_requests,
    }


def _amount(row: UsageRow) -> str | None:
    nanousd = row.known_cost_nanousd
    return None if nanousd is None else dollars(nanousd)


#: A row without usage.
_NOTHING = UsageRow(requests=0, failed_requests=0, estimated_requests=0, usage=Usage())


def _reader(source: ReportSource) -> UsageReader:
    return source.usage


_USAGE = UsageReport("usage", GROUPS, _usage_result, _usage_cells, _reader, _NOTHING)
_COSTS = UsageReport("costs", COST_GROUPS, _costs_result, _costs_cells, _reader, _NOTHING)
