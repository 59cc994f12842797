"""The errors that can reach a caller: what each means, its HTTP status, and its stable code.

Knows nothing of HTTP libraries; `app.api.errors` renders these, and nothing else does.

    TollgateError
    ├── InvalidRequest                 400  the caller's request cannot be served as written
    │   ├── InvalidJSON                400
    │   ├── UnsupportedParameter       400  this vendor cannot honour it
    │   ├── ModelNotFound              404
    │   ├── RequestTooLarge            413
    │   ├── RequestTimeout             408
    │   ├── InvalidContentCoding       400  its body is not what its coding says
    │   ├── UnsupportedContentCoding   415
    │   ├── UsagePruned                400  what it asks for has been pruned from the ledger
    │   └── IdempotencyConflict        409  what this idempotency key stands for stands in the way
    │       ├── IdempotencyKeyReused            for another request
    │       ├── IdempotencyInProgress           the first one is being answered
    │       └── ResponseNotStored                   the first one's answer cannot be given again
    ├── InvalidAPIKey                  401
    ├── PermissionDenied               403
    │   ├── AccountNotAllowed
    │   └── ScopeMissing
    ├── LimitReached                   429  the account or the key has used what it may
    │   ├── RateLimited                     for now; `retry-after` says when to try again
    │   └── InsufficientQuota               until its budget begins anew, or is raised
    ├── GatewayError                        something between us and the vendor
    │   ├── VendorRejected              400, 404, 413: the vendor does not take the request itself
    │   │   └── WrongEndpoint                   not on this endpoint: the other one has the model
    │   ├── VendorAuthentication       502  the vendor refuses *our* key or our money
    │   ├── VendorRateLimited          429
    │   ├── VendorFailed               502  an error, nonsense, or a broken connection
    │   │   └── VendorUnreachable      502  it never had the request, so nothing was billed
    │   │       ├── VendorConnectTimeout   504  no connection was made in time
    │   │       └── VendorMisconfigured    502  and never will, until a setting is changed
    │   ├── VendorOverloaded           503
    │   ├── VendorTimeout              504
    │   └── ShuttingDown               503  this process leaves, and has ended the call
    └── Unavailable                    503  a part of ours does not answer
        ├── StreamUnavailable               Redis
        └── LedgerUnavailable               the SQL database
"""

from collections.abc import Mapping
from typing import Literal

#: The header that tells clients whether to try again: official ones obey it, whatever the status.
SHOULD_RETRY = "x-should-retry"


class TollgateError(Exception):
    """Base of all; `str(error)` is safe to show to the caller."""

    status: int = 500
    type: str = "server_error"
    code: str | None = "internal_error"

    def __init__(
        self,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.code = code or type(self).code
        self.headers: dict[str, str] = dict(headers or {})

    def body(self) -> dict[str, dict[str, str | None]]:
        """Return OpenAI's error body, which official clients parse."""
        return {
            "error": {
                "message": self.message,
                "type": self.type,
                "param": self.param,
                "code": self.code,
            }
        }


class InvalidRequest(TollgateError):
    """A field is missing, of a wrong type or out of range; `param` names it."""

    status = 400
    type = "invalid_request_error"
    code = "invalid_value"


class InvalidJSON(InvalidRequest):
    """The body is not a JSON object we can read."""

    code = "invalid_json"


class UnsupportedParameter(InvalidRequest):
    """The vendor has no way to honour this parameter."""

    code = "unsupported_parameter"


class ModelNotFound(InvalidRequest):
    """No such vendor or model, or the vendor is not configured here."""

    status = 404
    code = "model_not_found"


class RequestTooLarge(InvalidRequest):
    """The body is over the configured limit."""

    status = 413
    code = "request_too_large"


class RequestTimeout(InvalidRequest):
    """The body does not arrive in the time that it may take."""

    status = 408
    code = "request_timeout"


class InvalidContentCoding(InvalidRequest):
    """The body is not what its content coding says."""

    code = "invalid_content_encoding"


class UnsupportedContentCoding(InvalidRequest):
    """The body has a content coding that we do not read."""

    status = 415
    code = "unsupported_content_encoding"


class UsagePruned(InvalidRequest):
    """Only sums are kept of so long ago, and they cannot tell what is asked for."""

    code = "usage_pruned"


class IdempotencyConflict(InvalidRequest):
    """The idempotency key stands for an earlier request, which decides what may be done now."""

    status = 409


class IdempotencyKeyReused(IdempotencyConflict):
    """The earlier request had another body."""

    code = "idempotency_key_reused"


class IdempotencyInProgress(IdempotencyConflict):
    """The earlier request is being answered; `retry-after` says when to ask again."""

    code = "idempotency_in_progress"


class ResponseNotStored(IdempotencyConflict):
    """The earlier request was answered, or may have been, but its answer was not kept."""

    code = "idempotency_response_not_stored"


class InvalidAPIKey(TollgateError):
    """Missing, unknown, revoked or expired: the caller is told no more than that."""

    status = 401
    type = "authentication_error"
    code = "invalid_api_key"


class PermissionDenied(TollgateError):
    """The key is good, but not for this."""

    status = 403
    type = "permission_error"


class AccountNotAllowed(PermissionDenied):
    """The key does not belong to the account that was selected."""

    code = "account_not_allowed"


class ScopeMissing(PermissionDenied):
    """The key lacks the scope that the route asks for."""

    code = "scope_missing"


class LimitReached(TollgateError):
    """A limit of ours; nothing was called, and nothing is recorded."""

    status = 429
    type = "rate_limit_error"


class RateLimited(LimitReached):
    """The request would be too much now; `retry-after` says when it is not, if it ever is."""

    code = "rate_limit_exceeded"


class InsufficientQuota(LimitReached):
    """The budget is used up; trying again soon is of no use."""

    type = "insufficient_quota"
    code = "insufficient_quota"


class GatewayError(TollgateError):
    """A vendor call went wrong.

    `vendor_status` is the vendor's HTTP status, or None when it sent none.
    `billable` says whether the vendor may have done paid work before the failure.
    """

    status = 502
    type = "vendor_error"
    code: str | None = "vendor_failed"

    def __init__(
        self,
        message: str,
        *,
        vendor_status: int | None = None,
        billable: bool = False,
        param: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message, param=param, code=code, headers=headers)
        self.vendor_status = vendor_status
        self.billable = billable


class VendorRejected(GatewayError):
    """The vendor refuses the request itself; its message, code and param are passed on."""

    status = 400
    type = "invalid_request_error"
    code = None

    def __init__(
        self,
        message: str,
        *,
        vendor_status: int,
        param: str | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message, vendor_status=vendor_status, param=param, code=code)
        self.status = 400 if vendor_status == 422 else vendor_status


class WrongEndpoint(VendorRejected):
    """The vendor has this model, but on its other endpoint: `wants` is "chat" or "native"."""

    def __init__(
        self,
        message: str,
        *,
        wants: Literal["chat", "native"],
        vendor_status: int,
        param: str | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message, vendor_status=vendor_status, param=param, code=code)
        self.wants = wants


class VendorAuthentication(GatewayError):
    """The vendor refuses our credentials or our balance: nothing the caller can mend or retry."""

    code = "vendor_authentication"

    def __init__(self, message: str, *, vendor_status: int | None) -> None:
        super().__init__(message, vendor_status=vendor_status, headers={SHOULD_RETRY: "false"})


class VendorRateLimited(GatewayError):
    """The vendor limits us; its `retry-after` is in `headers` when it sent one."""

    status = 429
    type = "rate_limit_error"
    code = "vendor_rate_limited"


class VendorFailed(GatewayError):
    """The vendor answered with an error or nonsense, or broke off."""


class VendorUnreachable(VendorFailed):
    """The vendor never had the whole request: no connection, or one that it closed too early."""


class VendorConnectTimeout(VendorUnreachable):
    """No connection was made in time; the look-up of its host counts."""

    status = 504
    code = "vendor_timeout"


class VendorMisconfigured(VendorUnreachable):
    """The vendor cannot be reached as it is configured, e.g. its certificate is not trusted."""

    def __init__(self, message: str, *, vendor_status: int | None = None) -> None:
        super().__init__(message, vendor_status=vendor_status, headers={SHOULD_RETRY: "false"})


class VendorOverloaded(GatewayError):
    """The vendor has no capacity just now."""

    status = 503
    code = "vendor_overloaded"


class VendorTimeout(GatewayError):
    """The vendor took longer than its deadline.

    Where it may have begun to work, the caller's client is told not to pay for it twice.
    """

    status = 504
    code = "vendor_timeout"

    def __init__(
        self,
        message: str,
        *,
        vendor_status: int | None = None,
        billable: bool = False,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        final = {SHOULD_RETRY: "false"} if billable else {}
        super().__init__(
            message,
            vendor_status=vendor_status,
            billable=billable,
            param=param,
            headers={**(headers or {}), **final},
        )


class Cancelled(Exception):
    """A call was cancelled because the client has disconnected: nobody gets this error."""


class ShuttingDown(GatewayError):
    """This process leaves, and ended the call when its grace time was over."""

    status = 503
    type = "server_error"
    code = "shutting_down"

    def __init__(self, *, billable: bool = False) -> None:
        super().__init__("This server is shutting down; try again.", billable=billable)


class Unavailable(TollgateError):
    """A service that Tollgate needs does not answer; the same request may work in a moment."""

    status = 503
    code = "service_unavailable"


class StreamUnavailable(Unavailable):
    """Redis does not answer, so the request cannot be admitted or its usage recorded."""

    code = "accounting_unavailable"


class LedgerUnavailable(Unavailable):
    """The SQL database does not answer, or its schema is not up to date."""

    code = "ledger_unavailable"
