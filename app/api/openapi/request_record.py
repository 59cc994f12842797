"""The operation that finds one request, and the schemas of what it returns.

These are made from the usage event, so that they describe every field that it has.
"""

from typing import Any

import msgspec
import orjson

from app.api.openapi.operations import Operation
from app.api.openapi.route_errors import KEYED
from app.usage.messages.event import UsageEvent
from app.vocabulary.errors import RequestNotFound

_EVENT = "RequestRecord"

OPERATION = Operation(
    "get",
    "/v5/organization/requests/{any_id}",
    "retrieveRequest",
    "Get a request by its id",
    description=(
        "What the ledger has of one request: its usage, its cost, and why it failed. An API of"
        " Tollgate's own. A key with the scope `usage` finds requests of its own accounts, a key"
        " with `admin` finds all."
    ),
    parameters=(
        {
            "name": "any_id",
            "in": "path",
            "required": True,
            "description": "The request's id, its usage event's id, or the vendor's request id.",
            "schema": {"type": "string"},
        },
    ),
    answers={
        "200": (
            "The request; if several have the id, the newest.",
            {"application/json": {"$ref": f"#/components/schemas/{_EVENT}"}},
        )
    },
    errors=(RequestNotFound, *KEYED),
)

#: What a request has beyond its usage event.
_BEYOND: dict[str, Any] = {
    "object": {"type": "string", "enum": ["organization.request"]},
    "id": {"type": "string", "description": "The request's id."},
    "cost_nanousd": {
        "type": ["integer", "null"],
        "description": "The cost in billionths of a dollar; null if a price is unknown.",
    },
    "price_id": {"type": ["string", "null"], "description": "The prices that were applied."},
    "other_event_ids": {
        "type": "array",
        "items": {"type": "string"},
        "description": "The event ids of older requests with the same id.",
    },
}


def components() -> dict[str, dict[str, Any]]:
    """Return the schemas by name: the request, its calls and its attempts."""
    _, found = msgspec.json.schema_components(
        [UsageEvent], ref_template="#/components/schemas/{name}"
    )
    found = orjson.loads(orjson.dumps(found))  # OpenAPI has no tuples
    event = found.pop(UsageEvent.__name__)
    fields = {n: it for n, it in event["properties"].items() if n not in ("process", "number")}
    required = [*fields, *_BEYOND]
    return {_EVENT: event | {"properties": fields | _BEYOND, "required": required}, **found}
