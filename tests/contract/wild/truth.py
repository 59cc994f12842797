"""The text and the counts that a vendor really generated, and the part that a reader can know."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Told:
    """What a usage tells, as it should be recorded; None is a side that it does not tell.

    `at_least` is a running count of the completion that more text followed; `loose`: two careful
    readers may differ.
    """

    prompt: int | None = None
    completion: int | None = None
    cached: int = 0
    at_least: int = 0
    loose: bool = False


@dataclass
class Sample:
    """One choice that the vendor generated for the prompt of this letter.

    finish       what the caller is to be told ("?": readers may differ); native: the vendor's own
                 word beside it, if any
    fuzzy        the text holds half characters, of which a reader makes what it can
    readable     whether a reader can tell that this text is there, and whose it is
    failed       whether the vendor said that this choice failed
    extra        fields beside the choice, which the caller is to get
    """

    prompt: str
    pieces: list[str]
    finish: str = "stop"
    native: str | None = None
    readable: bool = True
    failed: bool = False
    fuzzy: bool = False
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(self.pieces)


@dataclass
class Truth:
    """One call: what was generated, what was counted, and what is to become of it.

    failure   the statuses of which the caller is to be told one; None: all is to be delivered
    either    a careful reader may deliver or refuse: but never half of it as a whole
    free      nothing is to be booked for this call
    retry_after   what the caller is to be told of when to try again
    """

    samples: list[Sample]
    told: Told
    failure: frozenset[int] | None = None
    either: bool = False
    free: bool = False
    retry_after: str | None = None

    def fail(self, *statuses: int) -> None:
        """Expect a failure with one of these statuses, before the first byte or within a stream."""
        self.failure = frozenset(statuses)


#: What a failure of the vendor's own may be told as.
BROKEN = (502, 503, 504)
