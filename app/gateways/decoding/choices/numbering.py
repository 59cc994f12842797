"""Detects how a server numbers the choices of several prompts in one stream. No I/O.

Most begin with 0. Some begin with 1; some ignore `n`, and number the prompts. Until an index shows
which, deltas whose prompt is not certain are held back.
"""

from app.vocabulary.completion import Choice


class Numbering:
    """Holds deltas back until their choice is certain; `n` samples for each of `prompts`."""

    def __init__(self, prompts: int, n: int) -> None:
        self._prompts, self._samples = prompts, n
        self._count = prompts * n
        self._seen: set[int] = set()
        self._held: list[Choice] = []
        #: The index of the first choice; None until it is known.
        self._first: int | None = None

    @property
    def holds_text(self) -> bool:
        """Whether text is held back."""
        return any(choice.text for choice in self._held)

    def sure(self, choices: tuple[Choice, ...]) -> tuple[Choice, ...]:
        """Return the deltas whose choice is certain, including those held back before."""
        if self._first is None:
            self._seen.update(choice.index for choice in choices)
            self._first = self._detected()
            if self._first is None:
                self._held += [choice for choice in choices if choice.index]
                return tuple(choice for choice in choices if not choice.index)
            choices, self._held = (*self._held, *choices), []
        return self._numbered(choices)

    def held_at_end(self) -> tuple[Choice, ...]:
        """Return the deltas still held back, at the end, if they can be placed.

        They cannot if each prompt has exactly one choice: then the server has ignored `n`.
        """
        one_each = self._samples > 1 and self._seen == set(range(self._prompts))
        if self._first is not None or 0 not in self._seen or one_each:
            return ()
        return tuple(self._held)

    def _detected(self) -> int | None:
        if 0 not in self._seen:
            return 1 if self._count in self._seen else None
        is_beyond = self._samples == 1 or max(self._seen) >= self._prompts
        return 0 if is_beyond else None

    def _numbered(self, choices: tuple[Choice, ...]) -> tuple[Choice, ...]:
        if not self._first:
            return choices
        return tuple(choice._replace(index=choice.index - self._first) for choice in choices)
