"""A response under construction: from its contents to its bytes and the end of its connection."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.contract.wild.truth import Told, Truth
from tests.support.vendor import Asked, Step
from tests.support.vendors.base import Wire

#: In place of an index, a word or a usage: leave the field out; or leave it as the wire has it.
ABSENT = object()
KEEP = object()

#: Longer than an answer is waited for that could be whole; seconds.
PAUSE_S = 0.8

Body = dict[str, Any]


@dataclass
class Event:
    """One event of a stream, and what it tells a reader who sees no more than it.

    body     JSON; text is sent as it is
    says     pieces of text, by position; ends: positions that end here
    told     a usage that is here, exact in both sides when `final`
    mark     it is the wire's own mark of the end
    """

    body: Any
    name: str | None = None
    says: list[tuple[int, str]] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    told: Told | None = None
    final: bool = False
    mark: bool = False

    @property
    def text(self) -> str:
        """The body, on one line."""
        return self.body if isinstance(self.body, str) else json.dumps(self.body)


@dataclass
class Style:
    """How events are framed: `before` and `after` are lines around the data of each."""

    line_end: str = "\n"
    space: str = " "
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    named: bool = True
    glued: frozenset[int] = frozenset()
    last_blank: bool = True
    lead: bytes = b""
    spread: bool = False
    raw: bool = False


@dataclass
class Draft:
    """An answer that is being made; deviations change it, and with it the truth that is kept.

    words      each sample's finish word, as the vendor spells it
    usage      the usage object in the vendor's form; KEEP: the wire's own; ABSENT: none
    indices    each sample's index, as it is sent
    streams    whether it is answered as a stream, whatever was asked
    pieces     the bytes, one frame each; `tail` is what comes after the last of them
    pauses     seconds to wait, by the number of the piece before which to do so
    """

    rng: Random
    asked: Asked
    wire: Wire
    truth: Truth
    streams: bool
    first: bool
    words: list[Any] = field(default_factory=list)
    usage: Any = KEEP
    indices: list[Any] = field(default_factory=list)
    order: list[int] = field(default_factory=list)
    body: Any = None
    events: list[Event] = field(default_factory=list)
    style: Style = field(default_factory=Style)
    pieces: list[bytes] = field(default_factory=list)
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    framing: str = "chunked"
    packet: int | None = None
    pauses: dict[int, float] = field(default_factory=dict)
    tail: Sequence[Step] = ()

    @property
    def positions(self) -> range:
        """The positions of the samples."""
        return range(len(self.truth.samples))

    def heard(self, count: int) -> "Heard":
        """Return what the first `count` events tell a reader."""
        return Heard(self, self.events[:count])

    def first_of(self, test: Callable[[Event], Any]) -> int:
        """Return where the first event that passes `test` is; -1 when there is none."""
        return next((at for at, event in enumerate(self.events) if test(event)), -1)

    def last_of(self, test: Callable[[Event], Any]) -> int:
        """Return where the last event that passes `test` is; -1 when there is none."""
        return next((at for at in reversed(range(len(self.events))) if test(self.events[at])), -1)


class Heard:
    """The part of a stream that a reader got before it ended early."""

    def __init__(self, draft: Draft, events: list[Event]) -> None:
        self.pieces = [piece for event in events for _, piece in event.says]
        self.ended = {position for event in events for position in event.ends}
        self.has_mark = any(event.mark for event in events)
        self.is_told = any(event.final for event in events)
        self.none_open = bool(self.ended) and {p for e in events for p, _ in e.says} <= self.ended
        self.all_ended = self.ended == set(draft.positions)
        tellings = [event.told for event in events if event.told is not None]
        prompts = [told for told in tellings if told.prompt is not None]
        counts = [told.completion or told.at_least for told in tellings]
        told = draft.truth.told if self.is_told else (prompts[-1] if prompts else Told())
        if not self.is_told:
            told = Told(told.prompt, None, told.cached, max(counts, default=0), told.loose)
        self.told = told
