"""The operations that need no API key: health, metrics, and the description itself."""

from typing import Any

from app.api.openapi.operations import Operation

_WORDS: dict[str, Any] = {"type": "object", "additionalProperties": {"type": "string"}}
_PLAIN = {"type": "string"}

KEYLESS = [
    Operation(
        "get",
        "/",
        "index",
        "Find the API and its description",
        is_keyed=False,
        answers={
            "200": (
                "Their addresses; a page for browsers.",
                {"application/json": _WORDS, "text/html": _PLAIN},
            )
        },
    ),
    Operation(
        "get",
        "/livez",
        "livez",
        "Check that the process responds",
        is_keyed=False,
        answers={"200": ("The process responds.", {"application/json": _WORDS})},
    ),
    Operation(
        "get",
        "/readyz",
        "readyz",
        "Check readiness",
        is_keyed=False,
        answers={
            "200": ("Ready.", {"application/json": {"type": "object"}}),
            "503": (
                "Not ready; the body names the failed check.",
                {"application/json": {"type": "object"}},
            ),
        },
    ),
    Operation(
        "get",
        "/metrics",
        "metrics",
        "Metrics for Prometheus",
        is_keyed=False,
        answers={"200": ("Prometheus's text format.", {"text/plain": _PLAIN})},
    ),
    Operation(
        "get",
        "/openapi.json",
        "openapi",
        "This description",
        is_keyed=False,
        answers={"200": ("An OpenAPI document.", {"application/json": {"type": "object"}})},
    ),
    Operation(
        "get",
        "/docs",
        "docs",
        "This description, as a page",
        is_keyed=False,
        answers={"200": ("A page.", {"text/html": _PLAIN})},
    ),
    Operation(
        "get",
        "/docs/errors",
        "errors",
        "What each error means, and who has to act",
        is_keyed=False,
        answers={"200": ("A page.", {"text/html": _PLAIN})},
    ),
]
