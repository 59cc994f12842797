"""The headers of answers and of errors."""

from collections.abc import Mapping
from typing import Any

from app.vocabulary.errors.base import is_retried

_ALWAYS = {"x-request-id": "The request's id, in the logs and in the ledger."}

#: Status -> headers of its errors.
_OF_STATUS: Mapping[int, Mapping[str, str]] = {
    401: {"www-authenticate": "`Bearer`, as RFC 9110 asks."},
    415: {"accept-encoding": "The codings that a request's body may have."},
}
_OF_RETRIED = {
    "retry-after": "Seconds to wait before a retry, if they are known.",
    "x-should-retry": "`false` where a retry is useless or could cost twice.",
}
#: Of errors of routes that call vendors.
_OF_VENDOR = {"x-tollgate-attempts": "How many calls of a vendor were made, if any were."}


def answer_headers(texts: Mapping[str, str]) -> dict[str, Any]:
    """Return the `headers` of an answer that has these, and those that all have."""
    return {
        name: {"description": text, "schema": {"type": "string"}}
        for name, text in (_ALWAYS | dict(texts)).items()
    }


def error_headers(status: int, calls_vendor: bool) -> dict[str, Any]:
    """Return the `headers` of the errors with a status."""
    retried = _OF_RETRIED if is_retried(status) else {}
    of_vendor = _OF_VENDOR if calls_vendor else {}
    return answer_headers({**_OF_STATUS.get(status, {}), **retried, **of_vendor})
