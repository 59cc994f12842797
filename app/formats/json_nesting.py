"""Whether a JSON text that comes in pieces may be complete, in time that grows with its size alone.

To parse all that has come after each piece would take the square of that.
"""

import re

_MARK = re.compile(r'["\\{}\[\]]')
_QUOTED = re.compile(r'["\\]')


class JSONNesting:
    """Counts the brackets of one JSON object or array, outside of its strings.

    It does not judge the rest: a text that it calls closed may still be malformed.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._has_begun = self._in_string = self._escapes = self._goes_on = False

    @property
    def is_closed(self) -> bool:
        """Whether the first bracket has been closed, with nothing but blanks after it."""
        return self._has_begun and not self._depth and not self._goes_on

    def feed(self, piece: str) -> None:
        """Add a piece; bytes may be decoded as Latin-1, since only ASCII counts."""
        at = 0
        while at < len(piece):
            if self.is_closed:
                self._goes_on = bool(piece[at:].strip())
                return
            if self._goes_on:
                return
            at = self._next(piece, at)

    def _next(self, piece: str, at: int) -> int:
        """Go on to the next mark; return where to go on after it."""
        if self._escapes:
            self._escapes = False
            return at + 1
        found = (_QUOTED if self._in_string else _MARK).search(piece, at)
        if found is None:
            return len(piece)
        mark = found[0]
        if mark == '"':
            self._in_string = not self._in_string
        elif mark == "\\":
            self._escapes = self._in_string
        elif mark in "{[":
            self._depth, self._has_begun = self._depth + 1, True
        elif self._depth:
            self._depth -= 1
        return found.end()
