"""The errors that an operation may answer with, from the classes themselves."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from app.gateways.decoding.failures import REFUSED
from app.vocabulary.errors import TollgateError, VendorRejected

#: Codes that share a class, by its name: what the schemas say of a field.
FIELD_CODES = "`missing_required_parameter`, `invalid_type` or `invalid_value`"


def every_error(root: type[TollgateError] = TollgateError) -> Iterator[type[TollgateError]]:
    """Yield an error's class and all below it that have a code of their own."""
    if "code" in vars(root):
        yield root
    for below in root.__subclasses__():
        yield from every_error(below)


def error_responses(errors: Iterable[type[TollgateError]]) -> dict[str, Any]:
    """Return the `responses` of an operation for errors, by status, with their codes explained."""
    by_status: defaultdict[int, dict[str, str]] = defaultdict(dict)
    for error in errors:
        says = _first_paragraph(error)
        for status in _statuses(error):
            by_status[status].setdefault(_codes(error), says)
    return {
        str(status): {
            "description": "\n".join(f"- {codes}: {says}" for codes, says in known.items()),
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
        }
        for status, known in sorted(by_status.items())
    }


def _statuses(error: type[TollgateError]) -> Iterable[int]:
    """Return the statuses of an error: a vendor's refusal keeps its own, but for 422."""
    return REFUSED - {422} if issubclass(error, VendorRejected) else [error.status]


def _codes(error: type[TollgateError]) -> str:
    if error.__name__ == "InvalidRequest":
        return FIELD_CODES
    return f"`{error.code}`" if error.code else "the vendor's own code"


def _first_paragraph(error: type[TollgateError]) -> str:
    if error is TollgateError:
        return "A fault of Tollgate, which is logged under the request's id."
    return " ".join((error.__doc__ or "").partition("\n\n")[0].split())
