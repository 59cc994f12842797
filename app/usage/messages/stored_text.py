"""Text as the ledger can store it. No I/O."""

import hashlib
import re

from app.vocabulary.text import SENTENCE_LIMIT, TEXT_LIMIT

#: A search looks at megabytes in some milliseconds.
_SURROGATE = re.compile("[\ud800-\udfff]")


def clip(text: str) -> str:
    """Return `text` as a ledger can store it; the same object if nothing has to change.

    NUL and lone surrogates become U+FFFD. A text over TEXT_LIMIT characters ends in a digest of the
    whole text, so that different texts stay different.
    """
    text = _storable(text)
    if len(text) <= TEXT_LIMIT:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return f"{text[: TEXT_LIMIT - 17]}~{digest}"


def clip_or_none(text: str | None) -> str | None:
    """Return `clip(text)`, or None for None."""
    return None if text is None else clip(text)


def cut_or_none(text: str | None) -> str | None:
    """Return a sentence as a ledger can store it, cut after SENTENCE_LIMIT characters."""
    if text is None:
        return None
    text = _storable(text)
    return text if len(text) <= SENTENCE_LIMIT else f"{text[: SENTENCE_LIMIT - 1]}…"


def _storable(text: str) -> str:
    if "\0" in text:
        text = text.replace("\0", "\N{REPLACEMENT CHARACTER}")
    if not text.isascii() and _SURROGATE.search(text) is not None:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
