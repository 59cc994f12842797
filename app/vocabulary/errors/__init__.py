"""The errors that can reach a caller: their meaning, HTTP status and stable code.

Does not depend on any HTTP library; only `app.api.errors` renders them.

    TollgateError
    ├── InvalidRequest                 400  the request is invalid
    │   ├── MissingParameter, InvalidType, UnknownParameter, InvalidJSON, InvalidHTTP
    │   ├── PathNotFound               404  there is no such route
    │   ├── MethodNotAllowed           405
    │   ├── UnsupportedParameter       400  the vendor does not support a parameter
    │   ├── ModelNotFound              404
    │   ├── RequestNotFound            404  the ledger has no request with this id
    │   ├── RequestTooLarge            413
    │   ├── RequestTimeout             408
    │   ├── InvalidContentCoding       400  the body does not match its `content-encoding`
    │   ├── UnsupportedContentCoding   415
    │   ├── UsagePruned                400  the query needs usage that was pruned from the ledger
    │   └── IdempotencyConflict        409  an earlier request has the same idempotency key:
    │       ├── IdempotencyKeyReused            with another body
    │       ├── IdempotencyInProgress           which is still running
    │       └── ResponseNotStored               whose response was not stored
    ├── InvalidAPIKey                  401
    ├── PermissionDenied               403
    │   ├── AccountNotAllowed
    │   ├── AccountDisabled
    │   └── ScopeMissing
    ├── LimitReached                   429  a limit of the account or of the key:
    │   ├── RateLimited                     for now; `retry-after` gives the time to retry
    │   └── InsufficientQuota               until the budget resets or is raised
    ├── GatewayError                        a vendor call failed
    │   ├── VendorRejected              400, 404, 413: the vendor rejects the request itself
    │   │   └── WrongEndpoint                   the model is on the vendor's other endpoint
    │   ├── VendorAuthentication       502  the vendor rejects Tollgate's credentials or billing
    │   ├── VendorRateLimited          429
    │   ├── VendorFailed               502  an error, a malformed response, a broken connection
    │   │   └── VendorUnreachable      502  the vendor did not get the request: nothing is billed
    │   │       ├── VendorConnectTimeout   504  no connection in time
    │   │       └── VendorMisconfigured    502  until a setting is changed
    │   ├── VendorOverloaded           503
    │   ├── VendorTimeout              504
    │   └── ShuttingDown               503  this process shuts down and cancelled the call
    └── Unavailable                    503  a service that Tollgate needs does not respond:
        ├── StreamUnavailable               Redis:
        │   ├── StreamTimeout                   not in time
        │   └── StreamFull                      because its memory is full
        └── LedgerUnavailable               the SQL database
"""

from app.vocabulary.errors.base import SHOULD_RETRY, Retry, TollgateError, is_retried
from app.vocabulary.errors.caller import (
    AccountDisabled,
    AccountNotAllowed,
    IdempotencyConflict,
    IdempotencyInProgress,
    IdempotencyKeyReused,
    InsufficientQuota,
    InvalidAPIKey,
    InvalidContentCoding,
    InvalidHTTP,
    InvalidJSON,
    InvalidRequest,
    InvalidType,
    LimitReached,
    MethodNotAllowed,
    MissingParameter,
    ModelNotFound,
    PathNotFound,
    PermissionDenied,
    RateLimited,
    RequestNotFound,
    RequestTimeout,
    RequestTooLarge,
    ResponseNotStored,
    ScopeMissing,
    UnknownParameter,
    UnsupportedContentCoding,
    UnsupportedParameter,
    UsagePruned,
)
from app.vocabulary.errors.several import LISTED_LIMIT, together
from app.vocabulary.errors.unavailable import (
    LedgerUnavailable,
    StreamFull,
    StreamTimeout,
    StreamUnavailable,
    Unavailable,
)
from app.vocabulary.errors.vendor import (
    VENDOR_REJECTED,
    Cancelled,
    GatewayError,
    ShuttingDown,
    VendorAuthentication,
    VendorConnectTimeout,
    VendorFailed,
    VendorMisconfigured,
    VendorOverloaded,
    VendorRateLimited,
    VendorRejected,
    VendorTimeout,
    VendorUnreachable,
    WrongEndpoint,
)

__all__ = [
    "LISTED_LIMIT",
    "SHOULD_RETRY",
    "VENDOR_REJECTED",
    "AccountDisabled",
    "AccountNotAllowed",
    "Cancelled",
    "GatewayError",
    "IdempotencyConflict",
    "IdempotencyInProgress",
    "IdempotencyKeyReused",
    "InsufficientQuota",
    "InvalidAPIKey",
    "InvalidContentCoding",
    "InvalidHTTP",
    "InvalidJSON",
    "InvalidRequest",
    "InvalidType",
    "LedgerUnavailable",
    "LimitReached",
    "MethodNotAllowed",
    "MissingParameter",
    "ModelNotFound",
    "PathNotFound",
    "PermissionDenied",
    "RateLimited",
    "RequestNotFound",
    "RequestTimeout",
    "RequestTooLarge",
    "ResponseNotStored",
    "Retry",
    "ScopeMissing",
    "ShuttingDown",
    "StreamFull",
    "StreamTimeout",
    "StreamUnavailable",
    "TollgateError",
    "Unavailable",
    "UnknownParameter",
    "UnsupportedContentCoding",
    "UnsupportedParameter",
    "UsagePruned",
    "VendorAuthentication",
    "VendorConnectTimeout",
    "VendorFailed",
    "VendorMisconfigured",
    "VendorOverloaded",
    "VendorRateLimited",
    "VendorRejected",
    "VendorTimeout",
    "VendorUnreachable",
    "WrongEndpoint",
    "is_retried",
    "together",
]
