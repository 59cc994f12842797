"""Odd indices, and odd numbers, of choices."""

from collections.abc import Callable
from typing import Any

from tests.contract.wild.deviations import OPENAI, Deviation
from tests.contract.wild.draft import ABSENT, Draft, Event
from tests.contract.wild.wires.rows import SPEAKERS

#: A part is asked for at most so often; each time, one choice of it may come.
CALLS = 3


def _all(index: Callable[[int], Any]) -> Callable[[Draft], None]:
    def apply(draft: Draft) -> None:
        draft.indices = [index(position) for position in draft.positions]

    return apply


def _by_sample(draft: Draft) -> None:
    """Number each prompt's samples from 0."""
    count: dict[str, int] = {}
    for position, sample in enumerate(draft.truth.samples):
        draft.indices[position] = count.get(sample.prompt, 0)
        count[sample.prompt] = draft.indices[position] + 1


def _one(index: Callable[[Draft], Any]) -> Callable[[Draft], None]:
    def apply(draft: Draft) -> None:
        draft.indices = list(draft.positions)
        draft.indices[draft.rng.choice(draft.positions)] = index(draft)

    return apply


def _shuffled(draft: Draft) -> None:
    draft.indices = list(draft.positions)
    draft.rng.shuffle(draft.order)


def _twice(draft: Draft) -> None:
    """Give one choice the index of another one."""
    draft.indices = list(draft.positions)
    one, other = draft.rng.sample(draft.positions, 2)
    draft.indices[one] = other


def _fewer(draft: Draft) -> None:
    """Leave out one choice or more, but not all."""
    count = draft.rng.randint(1, len(draft.positions) - 1)
    draft.indices = list(draft.positions)
    for position in draft.rng.sample(draft.positions, count):
        draft.order.remove(position)
        draft.truth.samples[position].readable = False


def _one_only(draft: Draft) -> None:
    """Give one choice, however many were asked for, whenever it is asked."""
    draft.order = draft.order[:1]
    draft.indices = [0 for _ in draft.positions]
    for sample in draft.truth.samples[1:]:
        sample.readable = False
    if len(draft.positions) > CALLS:  # how often it is asked is not for us to say
        draft.truth.either = True


def _surplus(draft: Draft) -> None:
    """Give a choice beyond those that were asked for."""
    index = len(draft.positions)
    if not draft.streams:
        extra = {**draft.body["choices"][-1], "index": index}
        name = "text" if "text" in extra else "message"
        extra[name] = "surplus" if name == "text" else {"role": "assistant", "content": "surplus"}
        draft.body["choices"].append(extra)
        return
    at = draft.last_of(lambda event: event.says)
    event = draft.events[at]
    extra = {**event.body["choices"][0], "index": index, "finish_reason": "stop"}
    said = {"text": "surplus"} if "text" in extra else {"delta": {"content": "surplus"}}
    body = {n: v for n, v in event.body.items() if n != "usage"}
    draft.events.insert(at, Event({**body, "choices": [{**extra, **said}]}))


def _google_surplus(draft: Draft) -> None:
    index = len(draft.positions)
    extra = {"content": {"parts": [{"text": "surplus"}]}, "index": index, "finishReason": "STOP"}
    if not draft.streams:
        draft.body["candidates"].append(extra)
        return
    draft.events[draft.first_of(lambda event: event.ends)].body["candidates"].append(extra)


def _number(name: str, apply: Callable[[Draft], None], shape: str, **more: Any) -> Deviation:
    excludes = frozenset({"cuts", "errors"}) | more.pop("excludes", frozenset())
    values: dict[str, Any] = {"families": OPENAI, **more}
    return Deviation(
        f"index: {name}", "indices", apply=apply, shape=shape, excludes=excludes, **values
    )


WHOLE: dict[str, Any] = {
    "modes": ("whole",),
    "excludes": frozenset(
        {
            "label: an event stream where a whole answer was asked for",
            "label: an event stream called JSON where a whole answer was asked for",
        }
    ),
}

#: A running count of what has no number of its own says nothing.
UNCOUNTED = frozenset(
    {"count: a running count of each choice, and no other", "count: in the choice"}
)
#: Whether more was to come where some were missing, nobody knows.
UNMARKED = frozenset({"end: no mark, then a reset", "end: no mark, then silence"})
UNENDED = frozenset({"ends"}) | UNCOUNTED
MARKED = tuple(row for row in SPEAKERS if row != "llmengine")

INDICES: tuple[Deviation, ...] = (
    _number("missing", _all(lambda _: ABSENT), "several", **WHOLE),
    _number("missing of the only one", _all(lambda _: ABSENT), "one", source="vercel/ai#4031"),
    _number("null", _all(lambda _: None), "several", **WHOLE),
    _number("null of the only one", _all(lambda _: None), "one"),
    _number("all 0", _all(lambda _: 0), "several", **WHOLE),
    _number("from 1", _all(lambda at: at + 1), "several", **WHOLE),
    _number("from 1 in a stream", _all(lambda at: at + 1), "samples", modes=("stream",)),
    _number("1 of the only one", _all(lambda _: 1), "one"),
    _number("from 0 for each prompt", _by_sample, "list", **WHOLE),
    _number("floats", _all(float), "several", **WHOLE),
    _number("texts", _all(str), "several", **WHOLE),
    _number("shuffled", _shuffled, "several"),
    _number("negative", _one(lambda _: -1), "samples"),
    _number("out of range", _one(lambda d: len(d.positions) + 5), "samples"),
    _number("huge", _one(lambda _: 2**70), "samples"),
    _number("negative, of a list", _one(lambda _: -1), "list", **WHOLE),
    _number("out of range, of a list", _one(lambda d: len(d.positions) + 5), "list", **WHOLE),
    _number("twice", _twice, "several", **WHOLE),
    _number("fewer", _fewer, "several", rows=MARKED, excludes=UNCOUNTED | UNMARKED),
    _number("fewer, and no mark", _fewer, "several", rows=("llmengine",), excludes=UNENDED),
    _number(
        "one alone, again and again",
        _one_only,
        "samples",
        everywhere=True,
        rows=MARKED,
        excludes=UNMARKED,
    ),
    _number("more", _surplus, "several", stage="spoken", excludes=UNCOUNTED),
    _number("more than the only one", _surplus, "one", stage="spoken", excludes=UNCOUNTED),
    _number("missing (google)", _all(lambda _: ABSENT), "several", families=("google",)),
    _number("all 0 (google)", _all(lambda _: 0), "several", families=("google",), **WHOLE),
    _number("from 1 (google)", _all(lambda at: at + 1), "several", families=("google",)),
    _number("shuffled (google)", _shuffled, "several", families=("google",)),
    _number("fewer (google)", _fewer, "several", families=("google",), excludes=UNENDED),
    _number("more (google)", _google_surplus, "several", families=("google",), stage="spoken"),
    _number("more than one (google)", _google_surplus, "one", families=("google",), stage="spoken"),
)
