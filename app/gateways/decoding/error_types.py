"""What the words of an error mean that came with status 200."""

from collections.abc import Mapping

#: The status that an error's type or code means, if it came with status 200 and names no other.
STATUS_OF: Mapping[str, int] = {
    "invalid_request_error": 400,
    "BadRequestError": 400,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "timeout_error": 504,
    "NotFoundError": 404,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "rate_limited": 429,
    "content_filter": 400,
    "model_not_found": 404,
    "service_unavailable": 503,
    "overloaded_error": 529,
    "engine_overloaded_error": 503,  # Moonshot
    "service_tier_capacity_exceeded": 429,  # Mistral
    "UnprocessableEntityError": 422,
    "InternalServerError": 500,
    "api_error": 500,
    "internal_error": 500,
    "internal_server_error": 500,
    "server_error": 500,
    # Text Generation Inference's
    "validation": 422,
    "overloaded": 429,
}


def status_named(*names: str | None) -> int | None:
    """Return the status that the first known of an error's type and code means; None if none."""
    return next((STATUS_OF[name] for name in names if name is not None and name in STATUS_OF), None)
