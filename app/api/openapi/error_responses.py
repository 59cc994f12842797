"""The error responses of an operation, generated from the error classes."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from app.api.openapi.response_headers import error_headers
from app.gateways.decoding.failures import REJECTED
from app.vocabulary.errors import VENDOR_REJECTED, GatewayError, TollgateError, VendorRejected

#: Where the errors are defined that callers of the API may meet.
VOCABULARY = TollgateError.__module__.rpartition(".")[0]


def every_error(root: type[TollgateError] = TollgateError) -> Iterator[type[TollgateError]]:
    """Yield the class of an error and all subclasses that define a code.

    Errors of the dashboard's pages are not among them: they are defined beside the pages.
    """
    if "code" in vars(root) and root.__module__.startswith(VOCABULARY):
        yield root
    for below in root.__subclasses__():
        yield from every_error(below)


def error_responses(errors: Iterable[type[TollgateError]]) -> dict[str, Any]:
    """Return the `responses` of an operation for errors, by status, with their codes explained."""
    by_status: defaultdict[int, dict[str, str]] = defaultdict(dict)
    errors = list(errors)
    calls_vendor = any(issubclass(error, GatewayError) for error in errors)
    samples: dict[int, dict[str, Any]] = {}
    for error in errors:
        message = first_paragraph(error)
        for status in statuses_of(error):
            by_status[status].setdefault(_codes(error), message)
            samples.setdefault(status, _sample(error))
    return {
        str(status): {
            "description": "\n".join(f"- {codes}: {message}" for codes, message in known.items()),
            "headers": error_headers(status, calls_vendor),
            "content": {"application/json": {"schema": _ERROR, "example": samples[status]}},
        }
        for status, known in sorted(by_status.items())
    }


#: Messages of samples, if the class of the error does not say it as a message does.
_MESSAGES: Mapping[str, tuple[str, str | None]] = {
    "invalid_value": ("`temperature` must be from 0 to 2.", "temperature"),
    "missing_required_parameter": ("`start_time` is required.", "start_time"),
    "model_not_found": ("There is no vendor `opnai`. Did you mean `openai`?", "model"),
}

_ERROR = {"$ref": "#/components/schemas/Error"}


def _sample(error: type[TollgateError]) -> dict[str, Any]:
    """Return the body of an error, as `render` makes it."""
    message, param = _MESSAGES.get(error.code or "", (first_paragraph(error), None))
    code = error.code or VENDOR_REJECTED
    found = {"message": message, "type": error.type, "param": param, "code": error.code}
    return {"error": {**found, "request_id": "req_0199a3c27f3a", "doc_url": f"/docs/errors#{code}"}}


def statuses_of(error: type[TollgateError]) -> Iterable[int]:
    """Return the statuses of an error. A vendor's rejection keeps its own, except 422."""
    return REJECTED - {422} if issubclass(error, VendorRejected) else [error.status]


def _codes(error: type[TollgateError]) -> str:
    return f"`{error.code}`" if error.code else "the vendor's own code"


def first_paragraph(error: type[TollgateError]) -> str:
    """Return what an error means: the first paragraph of its class's docstring."""
    if error is TollgateError:
        return "An error in Tollgate, logged under the request's id."
    return " ".join((error.__doc__ or "").partition("\n\n")[0].split())
