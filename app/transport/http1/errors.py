"""Why a vendor's answer could not be read: each kind has its own words for the caller."""


class BrokenAnswer(OSError):
    """The answer could not be read whole. `str(error)` completes "The vendor ...".

    `status` is the answer's HTTP status, if its status line could be read.
    """

    status: int | None = None


class EndedEarly(BrokenAnswer):
    """The connection ended in the middle of an answer, or before it."""


class BadHTTP(BrokenAnswer):
    """The answer is not valid HTTP, and cannot safely be read in another way."""


class BadCoding(BrokenAnswer):
    """The body does not have the content coding that its headers name, or one that we can undo."""
