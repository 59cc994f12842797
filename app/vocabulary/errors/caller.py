"""Errors of the caller's request: invalid, not authorized, or over a limit."""

from app.vocabulary.errors.base import TollgateError


class InvalidRequest(TollgateError):
    """A field is missing, of a wrong type or out of range; `param` is its name."""

    status = 400
    type = "invalid_request_error"
    code = "invalid_value"


class InvalidJSON(InvalidRequest):
    """The body is not a valid JSON object."""

    code = "invalid_json"


class UnsupportedParameter(InvalidRequest):
    """The vendor does not support this parameter."""

    code = "unsupported_parameter"


class ModelNotFound(InvalidRequest):
    """The vendor or the model does not exist, or the vendor is not configured."""

    status = 404
    code = "model_not_found"


class RequestNotFound(InvalidRequest):
    """No request with this id is recorded, or the key may not read its account's usage."""

    status = 404
    code = "request_not_found"


class RequestTooLarge(InvalidRequest):
    """The body is larger than the configured limit."""

    status = 413
    code = "request_too_large"


class RequestTimeout(InvalidRequest):
    """The body did not arrive in time."""

    status = 408
    code = "request_timeout"


class InvalidContentCoding(InvalidRequest):
    """The body does not match its `content-encoding`."""

    code = "invalid_content_encoding"


class UnsupportedContentCoding(InvalidRequest):
    """The `content-encoding` of the body is not supported."""

    status = 415
    code = "unsupported_content_encoding"


class UsagePruned(InvalidRequest):
    """The query needs details that were pruned; only totals are stored for its range."""

    code = "usage_pruned"


class IdempotencyConflict(InvalidRequest):
    """An earlier request with the same idempotency key prevents this one."""

    status = 409


class IdempotencyKeyReused(IdempotencyConflict):
    """The earlier request had another body."""

    code = "idempotency_key_reused"


class IdempotencyInProgress(IdempotencyConflict):
    """The earlier request is still running; `retry-after` gives the time to retry."""

    code = "idempotency_in_progress"


class ResponseNotStored(IdempotencyConflict):
    """The earlier request was, or may have been, completed, but its response was not stored."""

    code = "idempotency_response_not_stored"


class InvalidAPIKey(TollgateError):
    """The key is missing, unknown, revoked or expired; the message does not reveal which."""

    status = 401
    type = "authentication_error"
    code = "invalid_api_key"


class PermissionDenied(TollgateError):
    """The key is valid, but does not permit this."""

    status = 403
    type = "permission_error"
    code = "permission_denied"


class AccountNotAllowed(PermissionDenied):
    """The key does not belong to the selected account."""

    code = "account_not_allowed"


class AccountDisabled(PermissionDenied):
    """An operator has disabled the account; the key works again once it is enabled."""

    code = "account_disabled"


class ScopeMissing(PermissionDenied):
    """The key lacks the scope that the route requires."""

    code = "scope_missing"


class LimitReached(TollgateError):
    """A limit of the account or the key; no vendor was called and nothing is recorded."""

    status = 429
    type = "rate_limit_error"
    #: The limit that was reached, such as `account/requests_per_minute` or `key/budget`.
    limit = ""

    @property
    def refusal_reason(self) -> str:
        """The code and the limit."""
        return f"{self.code}/{self.limit}"


class RateLimited(LimitReached):
    """The request exceeds a rate limit; `retry-after` gives the time to retry, if any."""

    code = "rate_limit_exceeded"


class InsufficientQuota(LimitReached):
    """The budget is used up; a retry fails until the budget resets or is raised."""

    type = "insufficient_quota"
    code = "insufficient_quota"
