"""A text that comes in pieces, kept until the vendor has counted it.

A text of ordinary length is kept as it came, and only joined if it must be estimated. Of a longer
one, whole slices are counted and let go: a stream without an end takes bounded memory.
"""

from app.usage.metering.estimate import SLICE_CHARS, count_tokens

#: Call `shorten` each time that so many pieces have come, and after one of so many characters.
LOOK_PIECES = 1024
LOOK_CHARS = 16 * 1024

#: The most pieces, and the most characters, that are kept.
PIECES_LIMIT = 2**17
CHARS_LIMIT = 2**22


class Pieces(list[str]):
    """The pieces that are kept. `let_go` is the number of tokens of the text before them."""

    def __init__(self) -> None:
        super().__init__()
        self.let_go = 0
        self._counted, self._tokens = 0, 0

    def forget(self) -> None:
        """Begin again: the vendor has counted all of it."""
        self.clear()
        self.let_go = self._counted = self._tokens = 0

    def shorten(self) -> None:
        """Count whole slices, and let them go, if more is kept than the limits.

        Slices begin where `count_tokens` begins them, so that the count is the same.
        """
        if len(self) < PIECES_LIMIT and sum(map(len, self)) < CHARS_LIMIT:
            return
        text = "".join(self)
        end = len(text) - len(text) % SLICE_CHARS
        counted = count_tokens(text[:end])  # others get a turn
        self[:] = [text[end:]]
        self.let_go += counted
        self._counted = self._tokens = 0

    def tokens_so_far(self) -> int:
        """Return the tokens by now; only what has come since the last call is counted."""
        let_go, new = self.let_go, self[self._counted :]
        tokens = count_tokens("".join(new))  # others get a turn
        if let_go == self.let_go:
            self._counted += len(new)
            self._tokens += tokens
        return self.let_go + self._tokens

    def tokens(self) -> int:
        """Return the tokens of the whole text."""
        return self.let_go + count_tokens("".join(self))
