"""Errors in responses with status 200."""

import json
from collections.abc import Callable
from typing import Any

from tests.contract.wild.deviations import ALL, OPENAI, SSE, Deviation
from tests.contract.wild.draft import Body, Draft, Event
from tests.contract.wild.truth import BROKEN, Told
from tests.contract.wild.wires.rows import SPEAKERS
from tests.support.vendors.bedrock import exception_frame

#: An error body in a vendor's words, and the statuses that it may be told as.
FAILURES: dict[str, tuple[Any, tuple[int, ...]]] = {
    "an object": ({"error": {"message": "It broke.", "type": "server_error"}}, BROKEN),
    "a text": ({"error": "It broke."}, BROKEN),
    "a list": ({"error": [{"message": "It broke."}]}, BROKEN),
    "a text and a type": ({"error": "CUDA out of memory", "error_type": "generation"}, BROKEN),
    "a code": ({"error": {"code": 502, "message": "Provider returned error"}}, BROKEN),
    "of too many requests": ({"error": {"code": 429, "message": "Too many requests."}}, (429,)),
    "of a limit": (
        {"error": {"message": "Slow down.", "type": "rate_limit_error"}},
        (429,),
    ),
    "of a bad request": (
        {"error": {"message": "Too long.", "type": "invalid_request_error", "code": 400}},
        (400,),
    ),
    "of an overload": ({"error": {"message": "Overloaded", "type": "overloaded_error"}}, (503,)),
    "of an object called error": ({"object": "error", "message": "It broke.", "code": 500}, BROKEN),
    "an http status": (
        {"error": {"message": "It broke.", "http_status_code": 424}},
        (*BROKEN, 400),
    ),
}


def _told(put: Callable[[Draft, Any, int], None]) -> Callable[[Draft], None]:
    """Put an error in place of what follows some of the events."""

    def apply(draft: Draft) -> None:
        error, statuses = FAILURES[draft.rng.choice(sorted(FAILURES))]
        marks = [at for at, event in enumerate(draft.events) if event.mark]
        last = min(marks, default=len(draft.events))
        count = draft.rng.choice((0, draft.rng.randrange(last + 1)))
        _judge(draft, count, statuses)
        draft.events = draft.events[:count]
        put(draft, error, count)

    return apply


def _judge(draft: Draft, count: int, statuses: tuple[int, ...]) -> None:
    heard = draft.heard(count)
    draft.truth.fail(*statuses)
    draft.truth.told = heard.told
    if not heard.pieces and heard.told == Told():
        draft.truth.free = True
    if heard.all_ended and heard.is_told:
        draft.truth.either = True


def _as_data(draft: Draft, error: Any, _: int) -> None:
    draft.events.append(Event(error))


def _named(draft: Draft, error: Any, _: int) -> None:
    draft.events.append(Event(error, "error"))
    draft.style.named = True


def _as_data_and_mark(draft: Draft, error: Any, _: int) -> None:
    draft.events += [Event(error), Event("[DONE]")]


def _beside_choices(draft: Draft, error: Any, _: int) -> None:
    """Send the error in a chunk whose choice ends with it."""
    choice = {"index": 0, "delta": {"content": ""}, "text": "", "finish_reason": "error"}
    draft.events.append(Event({"id": "x", "object": "x", **error, "choices": [choice]}))


def _in_choice(draft: Draft, error: Any, _: int) -> None:
    """Send the error in the choice that ends with it."""
    choice = {"index": 0, "text": "", "delta": {"content": ""}, "finish_reason": "error"}
    draft.events.append(Event({"id": "x", "object": "x", "choices": [{**choice, **error}]}))
    draft.truth.fail(*BROKEN, 429, 400)
    if draft.truth.free:  # a choice is a sign of work, if of no text
        draft.truth.free, draft.truth.told = False, Told(loose=True)


class Bare(str):
    """Text that is sent without `data:` before it."""

    __slots__ = ()


def _bare(prefix: str, end: str) -> Callable[[Draft], None]:
    def put(draft: Draft, error: Any, _: int) -> None:
        draft.tail = [f"{prefix}{json.dumps(error)}{end}".encode()]

    return _told(put)


def _after_usage(draft: Draft) -> None:
    """Send an error when all is said, but for the mark."""
    error, statuses = FAILURES["an object"]
    draft.events = [event for event in draft.events if not event.mark]
    _judge(draft, len(draft.events), statuses)
    draft.events.append(Event(error))


def _in_whole(draft: Draft) -> None:
    """Answer with an error in place of choices, without a usage."""
    error, statuses = FAILURES[draft.rng.choice(sorted(FAILURES))]
    draft.body = error
    draft.truth.fail(*statuses)
    draft.truth.free = True


def _with_usage(draft: Draft) -> None:
    """Answer with an error and the usage of what was done before it."""
    error, statuses = FAILURES[draft.rng.choice(sorted(FAILURES))]
    draft.body = {**error, "choices": [], "usage": draft.body["usage"]}
    draft.truth.fail(*statuses)


def _anthropic(draft: Draft) -> None:
    """Send Anthropic's own error event."""
    kind, statuses = draft.rng.choice((("overloaded_error", (503,)), ("api_error", BROKEN)))
    error: Body = {"type": "error", "error": {"type": kind, "message": "It broke."}}
    count = draft.rng.randrange(draft.first_of(lambda event: event.mark) + 1)
    _judge(draft, count, statuses)
    draft.events = [*draft.events[:count], Event(error, "error")]


def _bedrock(draft: Draft) -> None:
    """Send an exception between two events."""
    kinds = {"modelStreamErrorException": BROKEN, "throttlingException": (429,)}
    kind = draft.rng.choice(sorted(kinds))
    last = draft.first_of(lambda event: event.ends)
    count = draft.rng.randrange(last + 1)
    _judge(draft, count, kinds[kind])
    draft.events = draft.events[:count]
    draft.tail = [exception_frame(kind, message="It broke.")]


def _page(draft: Draft) -> None:
    """Send a page of a proxy in place of what follows."""
    count = draft.rng.randrange(draft.first_of(lambda event: event.ends) + 1)
    _judge(draft, count, BROKEN)
    draft.truth.free = False
    draft.events = draft.events[:count]
    draft.tail = [b"<html><head><title>504 Gateway Time-out</title></head></html>\r\n"]


def _nothing(draft: Draft) -> None:
    """Answer with a body that is no answer; what becomes of it is open, but for the books."""
    draft.pieces = [draft.rng.choice(NOTHINGS)]
    draft.events, draft.truth.told = [], Told(loose=True)
    draft.truth.either = True
    draft.framing = "length"


NOTHINGS = (
    b"",
    b" \n",
    b"null",
    b"[]",
    b"{}",
    b'""',
    b"0",
    b"OK",
    b"data: [DONE]\n\n",
    b": hm\n\n",
)


def _error(name: str, families: tuple[str, ...], apply: Any, **more: Any) -> Deviation:
    values: dict[str, Any] = {"stage": "spoken", "modes": ("stream",), "shape": "call", **more}
    excludes = frozenset({"ends", "cuts", "labels", "indices", "finish"})
    excludes |= more.pop("excludes", frozenset())
    values["excludes"] = excludes
    return Deviation(f"error: {name}", "errors", families, apply, breaks=True, **values)


#: Bytes of their own, which no style of frames changes.
UNFRAMED: dict[str, Any] = {"excludes": frozenset({"frames"})}
#: Rows whose chunks are not inside of a task; and some of them.
UNWRAPPED = tuple(row for row in SPEAKERS if not row.startswith("launch"))
PLAIN = ("vllm", "sglang", "tgi", "ollama", "fireworks_ai", "openrouter", "openai", "azure")

ERRORS: tuple[Deviation, ...] = (
    _error("as data", OPENAI, _told(_as_data), source="huggingface/text-generation-inference#2668"),
    _error("as data, then the mark", OPENAI, _told(_as_data_and_mark)),
    _error("in an event of that name", OPENAI, _told(_named), rows=UNWRAPPED),
    _error("beside choices", OPENAI, _told(_beside_choices), source="vercel/ai#2720"),
    _error("in a choice", OPENAI, _told(_in_choice), source="genkit-ai/genkit#6259"),
    _error("after the usage", OPENAI, _after_usage),
    _error("a bare line", OPENAI, _bare("", "\n"), rows=PLAIN, **UNFRAMED),
    _error("a bare line and a blank one", OPENAI, _bare("", "\n\n"), rows=PLAIN, **UNFRAMED),
    _error("a field named error", OPENAI, _bare("error: ", "\n\n"), rows=PLAIN, **UNFRAMED),
    _error("in a whole answer", OPENAI, _in_whole, modes=("whole",)),
    _error(
        "in a whole answer, with usage",
        OPENAI,
        _with_usage,
        modes=("whole",),
        shape="one",
        excludes=frozenset({"counts"}),
    ),
    _error("of Anthropic's", ("anthropic",), _anthropic),
    _error(
        "of Amazon's",
        ("converse", "invoke"),
        _bedrock,
        source="aaif-goose/goose#9579",
        **UNFRAMED,
    ),
    _error("a page of a proxy", SSE, _page, **UNFRAMED),
    _error("no answer at all", ALL, _nothing, stage="sent", modes=("stream", "whole"), **UNFRAMED),
)
