"""Odd framing of correct responses."""

from collections.abc import Callable
from typing import Any

from tests.contract.wild.deviations import ALL, OPENAI, SSE, Deviation
from tests.contract.wild.draft import PAUSE_S, Draft, Event


def _style(**values: Any) -> Callable[[Draft], None]:
    def apply(draft: Draft) -> None:
        for name, value in values.items():
            setattr(draft.style, name, value)

    return apply


def _packets(low: int, high: int) -> Callable[[Draft], None]:
    def apply(draft: Draft) -> None:
        draft.packet = draft.rng.randint(low, high)

    return apply


def _glued(draft: Draft) -> None:
    """Send pairs of events without the blank line between them."""
    last = len(draft.events) - 1
    starts = draft.rng.sample(range(last), k=min(3, last)) if last > 0 else []
    draft.style.glued = frozenset(starts)


def _between(*texts: str) -> Callable[[Draft], None]:
    """Send events that say nothing between those that do."""

    def apply(draft: Draft) -> None:
        for text in texts:
            draft.events.insert(draft.rng.randrange(len(draft.events)), Event(text))

    return apply


def _comments(draft: Draft) -> None:
    _insert(draft, b": keep-alive" + draft.style.line_end.encode() * 2)


def _blank_lines(draft: Draft) -> None:
    _insert(draft, draft.style.line_end.encode() * 3)


def _insert(draft: Draft, nothing: bytes) -> None:
    if not draft.style.glued:
        draft.pieces.insert(draft.rng.randrange(len(draft.pieces)), nothing)


def _pause(draft: Draft) -> None:
    """Pause before the usage, or another event: longer than a whole answer waits for more."""
    final = [at for at, event in enumerate(draft.events) if event.final and not event.ends]
    at = final[-1] if final and draft.rng.random() < 0.5 else draft.rng.randrange(len(draft.events))
    draft.pauses = {at: PAUSE_S}


def _one_packet(draft: Draft) -> None:
    draft.pieces = [b"".join(draft.pieces)]


def _json_with(before: bytes, after: bytes) -> Callable[[Draft], None]:
    def apply(draft: Draft) -> None:
        draft.pieces = [before, *draft.pieces, after]

    return apply


#: Ends that leave the last event alone, which is to be whole by itself.
UNENDED = ("end: no mark, then a reset", "end: no mark, then silence", "end: no mark")


def _frame(name: str, apply: Callable[[Draft], None], **more: Any) -> Deviation:
    values = {"families": SSE, "modes": ("stream",), **more}
    return Deviation(f"frame: {name}", "frames", apply=apply, **values)


FRAMES: tuple[Deviation, ...] = (
    _frame("lines end in CRLF", _style(line_end="\r\n")),
    _frame("lines end in CR", _style(line_end="\r")),
    _frame("no space after the colon", _style(space=""), source="nullclaw/nullclaw#509"),
    _frame("id and retry fields", _style(before=("id: 7", "retry: 3000"))),
    _frame("unknown fields", _style(after=("x: y", "nonsense", "z"))),
    _frame("an unknown field first", _style(lead=b"x: y\n")),
    _frame("a comment inside each event", _style(before=(": hello",), after=(":",))),
    _frame("events without their names", _style(named=False)),
    _frame("events named message", _style(before=("event: message",)), families=OPENAI),
    _frame("a byte order mark", _style(lead=b"\xef\xbb\xbf")),
    _frame("blank lines first", _style(lead=b"\n\n\n")),
    _frame("the last blank line is missing", _style(last_blank=False)),
    _frame("JSON over several data lines", _style(spread=True), excludes=frozenset({"errors"})),
    _frame("characters unescaped", _style(raw=True)),
    _frame("comments between", _comments, stage="sent"),
    _frame("blank lines between", _blank_lines, stage="sent"),
    _frame(
        "two JSON objects on adjacent data lines",
        _glued,
        stage="spoken",
        families=OPENAI,
        excludes=frozenset({"errors", "cuts", *UNENDED}),
        source="Wei-Shaw/sub2api#1471",
    ),
    _frame("data without a word", _between(""), stage="spoken"),
    _frame(
        "data that is null",
        _between("null"),
        stage="spoken",
        families=OPENAI,
        source="Kilo-Org/kilocode#3083",
    ),
    _frame("data that is an empty object", _between("{}"), stage="spoken", families=OPENAI),
    Deviation(
        "frame: a pause",
        "frames",
        ALL,
        _pause,
        "sent",
        ("stream",),
        excludes=frozenset({"labels", "ends", "cuts", "errors"}),
    ),
    Deviation("frame: byte by byte", "frames", ALL, _packets(1, 1)),
    Deviation("frame: packets of odd sizes", "frames", ALL, _packets(2, 40)),
    Deviation("frame: all in one packet", "frames", ALL, _one_packet, "sent", ("stream",)),
    Deviation(
        "frame: JSON between blank lines",
        "frames",
        (*SSE, "converse"),
        _json_with(b"\r\n \n", b"\n\n"),
        "sent",
        ("whole",),
        rows=(),
        excludes=frozenset({"labels", "ends", "cuts"}),
    ),
    Deviation(
        "frame: JSON after a byte order mark",
        "frames",
        (*OPENAI, "google"),
        _style(lead=b"\xef\xbb\xbf"),
        "said",
        ("whole",),
    ),
)
