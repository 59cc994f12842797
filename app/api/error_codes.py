"""What every error code means, who has to act and whether to retry; from the error classes."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from app.api.openapi.error_responses import first_paragraph, statuses_of
from app.vocabulary.errors import VENDOR_REJECTED, TollgateError, VendorRejected

RETRIES: Mapping[str, str] = {
    "no": "No. The same request fails again.",
    "yes": "Yes, unless the response has `x-should-retry: false`.",
    "later": "Yes, after the time in `retry-after`.",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """A code: its statuses, its `type`, what it means, who has to act, and whether to retry."""

    code: str
    statuses: tuple[int, ...]
    type: str
    meanings: tuple[str, ...]
    acts: tuple[str, ...]
    retry: str


def entries() -> list[Entry]:
    """Return every code that a caller of the API may meet, in alphabetical order."""
    by_code: defaultdict[str, list[type[TollgateError]]] = defaultdict(list)
    for error in error_classes():
        by_code[anchor(error)].append(error)
    return [_entry(code, by_code[code]) for code in sorted(by_code)]


def error_classes(root: type[TollgateError] = TollgateError) -> Iterator[type[TollgateError]]:
    """Yield the classes of errors that reach callers of the API; not what is only a base."""
    in_api = root.__module__.startswith(_VOCABULARY)
    if in_api and ("code" in vars(root) or not root.__subclasses__()):
        yield root
    for below in root.__subclasses__():
        yield from error_classes(below)


_VOCABULARY = TollgateError.__module__.rpartition(".")[0]


def anchor(error: type[TollgateError]) -> str:
    """Return the heading that explains a class of errors."""
    return VENDOR_REJECTED if issubclass(error, VendorRejected) else error.code or error.type


def _entry(code: str, classes: list[type[TollgateError]]) -> Entry:
    return Entry(
        code,
        tuple(sorted({status for it in classes for status in statuses_of(it)})),
        classes[0].type,
        tuple(dict.fromkeys(map(first_paragraph, classes))),
        tuple(dict.fromkeys(it.acts for it in classes)),
        classes[0].retry,
    )
