"""Error responses without a usable error body, and the error that each becomes."""

from typing import Any

from tests.gateways.decoding.error_shapes import (
    FAILED,
    LIMITED,
    OVERLOADED,
    SLOW,
    Ours,
    openai,
    refused,
)

BARE_SHAPES: dict[str, tuple[int, Any, Ours]] = {
    "HTML": (404, b"<html>not here</html>", refused(404, "rejected the request (HTTP 404)")),
    "nothing": (400, b"", refused(400, "rejected the request (HTTP 400)")),
    "an empty object": (500, {}, FAILED._replace(message="(HTTP 500)")),
    "null": (429, None, LIMITED._replace(message="(HTTP 429)")),
    "a number": (503, 5, OVERLOADED._replace(message="(HTTP 503)")),
    "a JSON string": (400, "no", refused(400, "no")),
    "an empty message": (400, openai(""), refused(400, "(HTTP 400)")),
    "a message that is a number": (400, {"error": {"message": 5}}, refused(400, "(HTTP 400)")),
    "bytes that are no text": (502, b"\xff\xfe\0", FAILED._replace(message="(HTTP 502)")),
    "nested without end": (500, b"[" * 100_000, FAILED._replace(message="(HTTP 500)")),
    "a gateway before the vendor": (504, b"<html>", SLOW._replace(message="(HTTP 504)")),
    "Cloudflare's timeout": (524, b"<html>", SLOW._replace(message="(HTTP 524)")),
    "a redirect": (301, b"", FAILED._replace(message="(HTTP 301)")),
    "no content": (204, b"", FAILED._replace(message="(HTTP 204)")),
    "a teapot": (418, b"", FAILED._replace(message="(HTTP 418)")),
}
