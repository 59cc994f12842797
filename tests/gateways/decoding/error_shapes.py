"""Error bodies of vendors, in all their shapes, and the error that each becomes."""

from typing import Any, NamedTuple


class Ours(NamedTuple):
    """The error that the caller gets; `message` is a part of its message."""

    status: int
    type: str
    code: str | None
    param: str | None
    message: str


def refused(status: int, message: str, code: str | None = None, param: str | None = None) -> Ours:
    """Return what a refusal of the request itself becomes."""
    return Ours(status, "invalid_request_error", code, param, message)


LIMITED = Ours(429, "rate_limit_error", "vendor_rate_limited", None, "limits Tollgate's requests")
CREDENTIALS = Ours(502, "vendor_error", "vendor_authentication", None, "credentials or billing")
FAILED = Ours(502, "vendor_error", "vendor_failed", None, "failed")
OVERLOADED = Ours(503, "vendor_error", "vendor_overloaded", None, "overloaded")
SLOW = Ours(504, "vendor_error", "vendor_timeout", None, "too long")


def openai(message: str, type_: Any = None, param: Any = None, code: Any = None) -> dict[str, Any]:
    """Return OpenAI's error body."""
    return {"error": {"message": message, "type": type_, "param": param, "code": code}}


CHAT_MODEL = "This is a chat model and not supported in the v1/completions endpoint."

SHAPES: dict[str, tuple[int, Any, Ours]] = {
    # OpenAI
    "openai: a chat model": (
        404,
        openai(CHAT_MODEL, "invalid_request_error", "model"),
        refused(404, CHAT_MODEL, None, "model"),
    ),
    "openai: no such model": (
        404,
        openai("No x.", "invalid_request_error", None, "model_not_found"),
        refused(404, "No x.", "model_not_found"),
    ),
    "openai: an unknown field": (
        400,
        openai("Unrecognized request argument supplied: foo", "invalid_request_error"),
        refused(400, "Unrecognized request argument supplied: foo"),
    ),
    "openai: too long": (
        400,
        openai("Too long.", "invalid_request_error", "messages", "context_length_exceeded"),
        refused(400, "Too long.", "context_length_exceeded", "messages"),
    ),
    "openai: a wrong key": (
        401,
        openai("Incorrect API key provided: sk-ab***yz.", None, None, "invalid_api_key"),
        CREDENTIALS,
    ),
    "openai: a wrong region": (403, openai("Country not supported."), CREDENTIALS),
    "openai: too many requests": (
        429,
        openai("Rate limit reached.", "requests", None, "rate_limit_exceeded"),
        LIMITED._replace(message="Rate limit reached."),
    ),
    "openai: out of money": (
        429,
        openai("You exceeded your quota.", "insufficient_quota", None, "insufficient_quota"),
        CREDENTIALS,
    ),
    "openai: a fault": (
        500,
        openai("Try again.", "server_error"),
        FAILED._replace(message="Try again."),
    ),
    "openai: busy": (503, openai("Busy."), OVERLOADED._replace(message="Busy.")),
    # Azure
    "azure: a chat model": (
        400,
        {"error": {"code": "OperationNotSupported", "message": "Not with gpt-4o."}},
        refused(400, "Not with gpt-4o.", "OperationNotSupported"),
    ),
    "azure: a blocked prompt": (
        400,
        {
            "error": {
                "message": "Filtered.",
                "type": None,
                "param": "prompt",
                "code": "content_filter",
                "status": 400,
                "innererror": {"code": "ResponsibleAIPolicyViolation"},
            }
        },
        refused(400, "Filtered.", "content_filter", "prompt"),
    ),
    "azure: a wrong key": (
        401,
        {"error": {"code": "401", "message": "Access denied."}},
        CREDENTIALS,
    ),
    "azure: no deployment": (
        404,
        {"error": {"code": "DeploymentNotFound", "message": "None."}},
        refused(404, "None.", "DeploymentNotFound"),
    ),
    # xAI
    "xai: an error that is a string": (
        400,
        {"code": "Client specified an invalid argument", "error": "Model x takes no stop."},
        refused(400, "Model x takes no stop.", "Client specified an invalid argument"),
    ),
    # Anthropic
    "anthropic: a bad request": (
        400,
        {
            "type": "error",
            "error": {"type": "invalid_request_error", "message": "Bad."},
            "request_id": "r",
        },
        refused(400, "Bad."),
    ),
    "anthropic: no money": (
        400,
        {"type": "error", "error": {"type": "billing_error", "message": "Pay."}},
        CREDENTIALS,
    ),
    "anthropic: too large": (
        413,
        {"type": "error", "error": {"type": "request_too_large", "message": "Large."}},
        refused(413, "Large."),
    ),
    "anthropic: overloaded": (
        529,
        {"type": "error", "error": {"type": "overloaded_error", "message": "Busy."}},
        OVERLOADED._replace(message="Busy."),
    ),
    # Gemini
    "gemini: exhausted, in a list": (
        429,
        [{"error": {"code": 429, "message": "Exhausted.", "status": "RESOURCE_EXHAUSTED"}}],
        LIMITED._replace(message="Exhausted."),
    ),
    "gemini: unavailable": (
        503,
        {"error": {"code": 503, "message": "Busy.", "status": "UNAVAILABLE"}},
        OVERLOADED,
    ),
    # Bedrock, Cohere, Mistral, DeepSeek
    "bedrock: validation": (400, {"message": "Malformed."}, refused(400, "Malformed.")),
    "bedrock: a model's fault": (
        424,
        {"message": "Model.", "originalStatusCode": 500},
        FAILED._replace(message="Model."),
    ),
    "bedrock: a model's timeout": (408, {"message": "Slow."}, SLOW._replace(message="Slow.")),
    "cohere: a message and an id": (422, {"message": "No.", "id": "i"}, refused(400, "No.")),
    "cohere: a client that left": (499, {"message": "Gone."}, FAILED._replace(message="Gone.")),
    "mistral: validation": (
        422,
        {"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs.", "type": "extra_forbidden"}]},
        refused(400, "Extra inputs.", None, "seed"),
    ),
    "pydantic: a path": (
        422,
        {"detail": [{"loc": ["body", "messages", 0, "user", "name"], "msg": "Extra inputs."}]},
        refused(400, "Extra inputs.", None, "messages[0].user.name"),
    ),
    "pydantic: no path": (
        422,
        {"detail": [{"loc": ["body"], "msg": "Bad."}, {"loc": 5}]},
        refused(400, "Bad."),
    ),
    "mistral: an object named error": (
        400,
        {
            "object": "error",
            "message": "Bad.",
            "type": "invalid_model",
            "param": None,
            "code": "1500",
        },
        refused(400, "Bad.", "1500"),
    ),
    "deepseek: no balance": (402, openai("Insufficient Balance"), CREDENTIALS),
    # OpenRouter, groq, together
    "openrouter: a code that is a number": (
        400,
        {"error": {"code": 400, "message": "Bad.", "metadata": {"raw": "x"}}},
        refused(400, "Bad."),
    ),
    "openrouter: no credits": (402, {"error": {"code": 402, "message": "Pay."}}, CREDENTIALS),
    "groq: too large": (
        413,
        openai("Large.", "tokens", None, "rate_limit_exceeded"),
        refused(413, "Large.", "rate_limit_exceeded"),
    ),
    "together: HTML": (
        522,
        b"<!DOCTYPE html><title>522</title>",
        FAILED._replace(message="HTTP 522"),
    ),
    # Self-hosted
    "vllm: a code that is a number": (
        400,
        openai("No suffix.", "BadRequestError", None, 400),
        refused(400, "No suffix."),
    ),
    "vllm: older": (
        404,
        {
            "object": "error",
            "message": "None.",
            "type": "NotFoundError",
            "param": None,
            "code": 404,
        },
        refused(404, "None."),
    ),
    "llama.cpp: a fault": (
        500,
        {"error": {"code": 500, "message": "Unsupported param: suffix", "type": "server_error"}},
        FAILED._replace(message="Unsupported param: suffix"),
    ),
    "llama.cpp: loading": (
        503,
        {"error": {"code": 503, "message": "Loading.", "type": "unavailable_error"}},
        OVERLOADED._replace(message="Loading."),
    ),
    "ollama: no model": (404, openai("None.", "not_found_error"), refused(404, "None.")),
    "tgi: validation": (
        422,
        {"error": "Too long.", "error_type": "validation"},
        refused(400, "Too long."),
    ),
    "tgi: overloaded": (
        429,
        {"error": "Overloaded", "error_type": "overloaded"},
        LIMITED._replace(message="Overloaded"),
    ),
    "tgi: generation": (424, {"error": "Failed.", "error_type": "generation"}, FAILED),
    "llm-engine: a detail": (
        404,
        {"detail": "No such endpoint."},
        refused(404, "No such endpoint."),
    ),
    "llm-engine: a detail of a detail": (
        400,
        {"detail": {"error": {"message": "Deep.", "code": "x", "param": "p"}}},
        refused(400, "Deep.", "x", "p"),
    ),
    "llm-engine: a fault": (500, {"detail": "Upstream service error for request_id r"}, FAILED),
}
