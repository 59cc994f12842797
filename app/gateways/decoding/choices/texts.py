"""Text that encodes as UTF-8, however a vendor cut it into pieces. Pure.

A character that was cut in two arrives as halves: as escapes of a surrogate pair, or as raw bytes,
which `app.formats.strict_json` keeps as surrogate escapes. They are joined, and what stays half is
U+FFFD.
"""

import re

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

_SURROGATE = re.compile("[\ud800-\udfff]")
_PAIR = re.compile("([\ud800-\udbff])([\udc00-\udfff])")
_RAW = re.compile("[\udc80-\udcff]+")
_HIGH = re.compile("[\ud800-\udbff]\\Z")


class TextJoiner:
    """Joins the pieces of one choice's text; holds back half a character until more has come."""

    def __init__(self) -> None:
        self.held = ""

    def feed(self, piece: str) -> str:
        """Return what may be passed on, now that `piece` has come."""
        text = self.held + piece
        self.held = ""
        if _SURROGATE.search(text) is None:
            return text
        text = _PAIR.sub(_paired, text)
        begun = _begun(text)
        self.held, text = text[len(text) - begun :], text[: len(text) - begun]
        return _mended(text)

    def flush(self) -> str:
        """Return what was held back, now that the text has ended."""
        held, self.held = self.held, ""
        return _mended(held)


def mended(text: str) -> str:
    """Return a whole text as UTF-8 can have it; the same object where nothing is to be mended."""
    if text.isascii() or _SURROGATE.search(text) is None:
        return text
    return _mended(_PAIR.sub(_paired, text))


def _paired(found: re.Match[str]) -> str:
    return found[0].encode("utf-16", "surrogatepass").decode("utf-16")


def _begun(text: str) -> int:
    """Return how many characters at the end of `text` are half a character that may go on."""
    if _HIGH.search(text):
        return 1
    return next((n for n in (3, 2, 1) if _is_cut(text[-n:])), 0)


def _is_cut(tail: str) -> bool:
    """Whether `tail` is the beginning of one character's bytes, and not all of them."""
    if _RAW.fullmatch(tail) is None:
        return False
    try:
        tail.encode("utf-8", "surrogateescape").decode()
    except UnicodeDecodeError as exc:
        return exc.start == 0 and exc.reason == "unexpected end of data"
    return False


def _mended(text: str) -> str:
    def decoded(found: re.Match[str]) -> str:
        return found[0].encode("utf-8", "surrogateescape").decode("utf-8", "replace")

    return _SURROGATE.sub(REPLACEMENT, _RAW.sub(decoded, text))
