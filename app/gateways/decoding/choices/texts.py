"""Text that encodes as UTF-8, however a vendor split it into deltas. No I/O.

A character that was split arrives in parts: as escapes of a surrogate pair, or as raw bytes, which
`app.formats.strict_json` keeps as surrogate escapes. They are joined; an incomplete character
becomes U+FFFD.
"""

import re

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

_SURROGATE = re.compile("[\ud800-\udfff]")
_PAIR = re.compile("([\ud800-\udbff])([\udc00-\udfff])")
_RAW = re.compile("[\udc80-\udcff]+")
_HIGH = re.compile("[\ud800-\udbff]\\Z")


class TextJoiner:
    """Joins the deltas of one choice's text; holds back half a character until the rest comes."""

    def __init__(self) -> None:
        self.held = ""

    def feed(self, delta: str) -> str:
        """Add a delta; return the text that can be passed on."""
        text = self.held + delta
        self.held = ""
        if _SURROGATE.search(text) is None:
            return text
        text = _PAIR.sub(_paired, text)
        begun = _begun(text)
        self.held, text = text[len(text) - begun :], text[: len(text) - begun]
        return _sanitized(text)

    def join(self, delta: str) -> str:
        """Add a delta, as `feed`: at no cost for what is plain, as nearly all is."""
        return delta if not self.held and delta.isascii() else self.feed(delta)

    def flush(self) -> str:
        """Return the text that was held back, at the end."""
        held, self.held = self.held, ""
        return _sanitized(held)


def sanitized(text: str) -> str:
    """Return a whole text without lone surrogates; the same object if it has none."""
    if text.isascii() or _SURROGATE.search(text) is None:
        return text
    return _sanitized(_PAIR.sub(_paired, text))


def _paired(found: re.Match[str]) -> str:
    return found[0].encode("utf-16", "surrogatepass").decode("utf-16")


def _begun(text: str) -> int:
    """Return how many code points at the end of `text` may begin one character."""
    if _HIGH.search(text):
        return 1
    return next((n for n in (3, 2, 1) if n <= len(text) and _is_cut(text[-n:])), 0)


def _is_cut(tail: str) -> bool:
    """Whether `tail` is the beginning, but not all, of one character's bytes."""
    if _RAW.fullmatch(tail) is None:
        return False
    try:
        tail.encode("utf-8", "surrogateescape").decode()
    except UnicodeDecodeError as exc:
        return exc.start == 0 and exc.reason == "unexpected end of data"
    return False


def _sanitized(text: str) -> str:
    def decoded(found: re.Match[str]) -> str:
        return found[0].encode("utf-8", "surrogateescape").decode("utf-8", "replace")

    return _SURROGATE.sub(REPLACEMENT, _RAW.sub(decoded, text))
