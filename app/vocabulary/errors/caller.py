"""Errors of the caller's request: invalid, not authorized, or over a limit."""

from typing import ClassVar

from app.vocabulary.errors.base import Retry, TollgateError


class InvalidRequest(TollgateError):
    """A field has a value that is not allowed; `param` is its name."""

    status = 400
    type = "invalid_request_error"
    code = "invalid_value"
    acts = "the caller: correct what `param` names."
    retry: ClassVar[Retry] = "no"


class MissingParameter(InvalidRequest):
    """A required field is missing or null."""

    code = "missing_required_parameter"


class InvalidType(InvalidRequest):
    """A field has another JSON type than it must have."""

    code = "invalid_type"


class UnknownParameter(InvalidRequest):
    """The query, a header or a tool's function has a name that Tollgate does not know."""

    code = "unknown_parameter"


class PathNotFound(InvalidRequest):
    """Tollgate has no route at this path."""

    status = 404
    code = "not_found"
    acts = "the caller: use the base URL or the path that the message names."


class MethodNotAllowed(InvalidRequest):
    """The route exists, but takes another method; `allow` lists those that it takes."""

    status = 405
    code = "method_not_allowed"
    acts = "the caller: use a method that the message names."


class InvalidHTTP(InvalidRequest):
    """The request breaks a rule of HTTP, or its head is too large (414, 431)."""

    code = "invalid_http"
    acts = "the caller, or a proxy before Tollgate: send a valid request."


class InvalidJSON(InvalidRequest):
    """The body is not a valid JSON object."""

    code = "invalid_json"
    acts = "the caller: send one JSON object in UTF-8."


class UnsupportedParameter(InvalidRequest):
    """The vendor does not support this parameter."""

    code = "unsupported_parameter"
    acts = "the caller: leave the parameter out, or choose another model or vendor."


class ModelNotFound(InvalidRequest):
    """The vendor or the model does not exist, or the vendor is not configured."""

    status = 404
    code = "model_not_found"
    acts = (
        "the caller: correct `model`; `GET /v5/models` lists the models. If the vendor is not "
        "configured, the operator: set the variable that the message names."
    )


class RequestNotFound(InvalidRequest):
    """No request with this id is recorded, or the key may not read its account's usage."""

    status = 404
    code = "request_not_found"
    acts = "the caller: correct the id, or use a key of the account that made the request."


class RequestTooLarge(InvalidRequest):
    """The body is larger than the configured limit."""

    status = 413
    code = "request_too_large"
    acts = "the caller: send less. The operator can raise `TOLLGATE_BODY_LIMIT_BYTES`."


class RequestTimeout(InvalidRequest):
    """The body did not arrive in time."""

    status = 408
    code = "request_timeout"
    acts = "the caller: check the connection, or send a smaller body."
    retry = "yes"


class InvalidContentCoding(InvalidRequest):
    """The body does not match its `content-encoding`."""

    code = "invalid_content_encoding"
    acts = "the caller: send the body as its headers describe it."


class UnsupportedContentCoding(InvalidRequest):
    """The `content-encoding` of the body is not supported."""

    status = 415
    code = "unsupported_content_encoding"
    acts = "the caller: use a coding of the response's `accept-encoding`, or none."


class UsagePruned(InvalidRequest):
    """The query needs details that were pruned; only totals are stored for its range."""

    code = "usage_pruned"
    acts = "the caller: ask for a later range, for longer buckets, or without the user."


class IdempotencyConflict(InvalidRequest):
    """An earlier request with the same idempotency key prevents this one."""

    status = 409


class IdempotencyKeyReused(IdempotencyConflict):
    """The earlier request had another body."""

    code = "idempotency_key_reused"
    acts = "the caller: use a new key for another request."


class IdempotencyInProgress(IdempotencyConflict):
    """The earlier request still runs after a long wait; `retry-after` gives the time to retry."""

    code = "idempotency_in_progress"
    acts = "nobody: the earlier request's response comes with a later retry."
    retry = "later"


class ResponseNotStored(IdempotencyConflict):
    """The earlier request was, or may have been, completed, but its response was not stored."""

    code = "idempotency_response_not_stored"
    acts = "the caller: look up the earlier request's usage. To pay for another try, use a new key."


class InvalidAPIKey(TollgateError):
    """The key is missing or malformed, as the message says, or is unknown, revoked or expired.

    Of a well-formed key, the message does not reveal which.
    """

    status = 401
    type = "authentication_error"
    code = "invalid_api_key"
    acts = "the caller: send a valid key. An operator makes one with `tollgate keys create`."
    retry = "no"


class PermissionDenied(TollgateError):
    """The key is valid, but does not permit this."""

    status = 403
    type = "permission_error"
    code = "permission_denied"
    acts = "the caller: use another key."
    retry = "no"


class AccountNotAllowed(PermissionDenied):
    """The key does not belong to the selected account."""

    code = "account_not_allowed"
    acts = "the caller: select an account of the key, or none."


class AccountDisabled(PermissionDenied):
    """An operator has disabled the account; the key works again once it is enabled."""

    code = "account_disabled"
    acts = "the operator: `tollgate accounts enable`."


class ScopeMissing(PermissionDenied):
    """The key lacks the scope that the route requires."""

    code = "scope_missing"
    acts = "the caller: use a key with the scope that the message names."


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
    acts = "the caller: send fewer requests or tokens. The operator can raise the limit."
    retry = "later"


class InsufficientQuota(LimitReached):
    """The budget is used up; a retry fails until the budget resets or is raised."""

    type = "insufficient_quota"
    code = "insufficient_quota"
    acts = "the operator: raise the budget, or wait until it resets."
    retry = "no"
