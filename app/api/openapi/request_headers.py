"""The headers of requests that call models."""

from typing import Any


def _header(name: str, description: str, **schema: Any) -> dict[str, Any]:
    return {
        "name": name,
        "in": "header",
        "description": description,
        "schema": {"type": "string", **schema},
    }


ACCOUNT = _header(
    "x-selected-account-id",
    "The account that pays. Required only if the key belongs to several accounts.",
)
TRACE = _header("traceparent", "W3C Trace Context; forwarded to vendors.")
IDEMPOTENCY = _header(
    "idempotency-key",
    "Identifies this request for 24 hours. A retry gets the first response, at no further cost;"
    " while the first request is running, it waits for it.",
    maxLength=255,
    pattern="^[!-~]+$",
)

INCLUDE_COST = _header(
    "x-tollgate-include-cost",
    "`true`: `usage.cost` is what the answer cost, in dollars. A stream then has a last chunk with"
    " the usage.",
    enum=["true", "false"],
)
