"""How a server numbers the choices of several prompts in one stream. Pure.

Most begin with 0, and then nothing is held back. Some begin with 1; some ignore `n`, and number the
prompts. Until an index tells, nobody knows under which prompt a text belongs.
"""

from dataclasses import replace

from app.vocabulary.completion import Choice


class Numbering:
    """Holds pieces back until it is known whose they are; `n` samples of each of `prompts`."""

    def __init__(self, prompts: int, n: int) -> None:
        self._prompts, self._samples = prompts, n
        self._count = prompts * n
        self._seen: set[int] = set()
        self._held: list[Choice] = []
        #: What is to be taken from each index; None until it is known.
        self._first: int | None = None

    @property
    def holds_text(self) -> bool:
        """Whether a text is held back."""
        return any(choice.text for choice in self._held)

    def sure(self, choices: tuple[Choice, ...]) -> tuple[Choice, ...]:
        """Return the pieces, also those that were held, of which is known whose they are."""
        if self._first is None:
            self._seen.update(choice.index for choice in choices)
            self._first = self._told()
            if self._first is None:
                self._held += [choice for choice in choices if choice.index]
                return tuple(choice for choice in choices if not choice.index)
            choices, self._held = (*self._held, *choices), []
        return self._numbered(choices)

    def held_at_end(self) -> tuple[Choice, ...]:
        """Return the pieces that are still held, if they can be placed now that no more comes.

        Exactly one choice for each prompt is what a server gives that ignores `n`.
        """
        one_each = self._samples > 1 and self._seen == set(range(self._prompts))
        if self._first is not None or 0 not in self._seen or one_each:
            return ()
        return tuple(self._held)

    def _told(self) -> int | None:
        if 0 not in self._seen:
            return 1 if self._count in self._seen else None
        is_beyond = self._samples == 1 or max(self._seen) >= self._prompts
        return 0 if is_beyond else None

    def _numbered(self, choices: tuple[Choice, ...]) -> tuple[Choice, ...]:
        if not self._first:
            return choices
        return tuple(replace(choice, index=choice.index - self._first) for choice in choices)
