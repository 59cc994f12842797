"""Which errors each kind of route answers with."""

from app.api.openapi.error_responses import every_error
from app.vocabulary.errors import (
    AccountDisabled,
    AccountNotAllowed,
    InvalidAPIKey,
    InvalidRequest,
    InvalidType,
    LedgerUnavailable,
    MethodNotAllowed,
    MissingParameter,
    PathNotFound,
    PermissionDenied,
    RequestNotFound,
    ScopeMissing,
    TollgateError,
    Unavailable,
    UnknownParameter,
    UsagePruned,
)

Errors = tuple[type[TollgateError], ...]

#: The errors of any operation that requires an API key.
KEYED: Errors = (
    InvalidAPIKey,
    AccountDisabled,
    ScopeMissing,
    LedgerUnavailable,
    TollgateError,
)

#: Of a list, whose unknown parameters are ignored.
LIST: Errors = (InvalidRequest, InvalidType, *KEYED)

REPORT: Errors = (
    InvalidRequest,
    MissingParameter,
    InvalidType,
    UnknownParameter,
    UsagePruned,
    AccountNotAllowed,
    *KEYED,
)

#: Errors of other routes, of no route, and those that only others are made of.
_ELSEWHERE: frozenset[type[TollgateError]] = frozenset(
    {
        MethodNotAllowed,
        PathNotFound,
        PermissionDenied,
        RequestNotFound,
        Unavailable,
        UsagePruned,
    }
)


def of_generation() -> Errors:
    """Return the errors of a route that calls models."""
    return tuple(error for error in every_error() if error not in _ELSEWHERE)
