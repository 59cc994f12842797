"""Odd values of, and beside, the text in OpenAI's formats."""

from collections.abc import Callable
from typing import Any

from tests.contract.wild.deviations import OPENAI, Deviation
from tests.contract.wild.draft import Body, Draft, Event


def _chunk_like(draft: Draft, **fields: Any) -> Event:
    """Return a chunk that says nothing, with these fields in place of its own."""
    body = next(e.body for e in draft.events if isinstance(e.body, dict) and "choices" in e.body)
    return Event({**{n: v for n, v in body.items() if n not in ("usage", "x_groq")}, **fields})


def _extra(*fields: Body) -> Callable[[Draft], None]:
    """Send chunks that say nothing, anywhere."""

    def apply(draft: Draft) -> None:
        for one in fields:
            at = draft.rng.randrange(len(draft.events))
            draft.events.insert(at, _chunk_like(draft, **one))

    return apply


def _without_choices(draft: Draft) -> None:
    event = _chunk_like(draft)
    del event.body["choices"]
    draft.events.insert(draft.rng.randrange(len(draft.events)), event)


def _usage_without_choices(draft: Draft) -> None:
    """Say the usage in a chunk that has no choices, or null."""
    at = draft.last_of(lambda event: event.final and not event.ends)
    if at >= 0:
        body = dict(draft.events[at].body)
        body["choices"] = None
        if draft.rng.random() < 0.5:
            del body["choices"]
        draft.events[at].body = body


def _in_choice(change: Callable[[Draft, Body], Body]) -> Callable[[Draft], None]:
    """Change every choice that has text."""

    def apply(draft: Draft) -> None:
        if not draft.streams:
            draft.body["choices"] = [change(draft, choice) for choice in draft.body["choices"]]
        for event in draft.events:
            if event.says:
                choices = [change(draft, choice) for choice in event.body["choices"]]
                event.body = {**event.body, "choices": choices}

    return apply


def _said(choice: Body, change: Callable[[Body], Body]) -> Body:
    key = "delta" if "delta" in choice else "message"
    return {**choice, key: change(choice[key])}


def _parts(_: Draft, choice: Body) -> Body:
    """Return a choice with its text as a list of parts, after some thinking."""
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}

    def parted(said: Body) -> Body:
        return {**said, "content": [thought, {"type": "text", "text": said["content"]}]}

    return _said(choice, parted)


def _thinking(draft: Draft, choice: Body) -> Body:
    name = draft.rng.choice(("reasoning_content", "reasoning", "reasoning_details"))
    return _said(choice, lambda said: {**said, name: "hm"})


def _beside(draft: Draft) -> None:
    """Send fields beside each choice that are not the contract's; the caller is to get them."""
    kinds: tuple[Body, ...] = (
        {"stop_reason": 128009},
        {"token_ids": [1, 2]},
        {"content_filter_results": {"x": {}}},
    )
    for sample in draft.truth.samples:
        sample.extra = draft.rng.choice(kinds)


def _null_fields(_: Draft, choice: Body) -> Body:
    return {**choice, "logprobs": None, "seed": None, "matched_stop": None, "error": None}


def _thoughts(draft: Draft) -> None:
    """Think before each choice's text: chunks with no content, or null."""
    first = draft.first_of(lambda event: event.says)
    for content in (None, ""):
        delta = {"role": "assistant", "content": content, "reasoning_content": "Let me see."}
        choice = {"index": 0, "delta": delta, "finish_reason": None}
        draft.events.insert(first, _chunk_like(draft, choices=[choice]))


def _null_at_the_end(draft: Draft) -> None:
    """Send null for the text of the last piece."""
    for event in draft.events:
        if event.ends:
            choices = [
                {**c, "text": None} if "text" in c else {**c, "delta": {"content": None}}
                for c in event.body["choices"]
            ]
            event.body = {**event.body, "choices": choices}


def _no_delta(draft: Draft) -> None:
    """Send a reason without a delta, or with null for one."""
    for event in draft.events:
        if event.ends and "delta" in event.body["choices"][0]:
            choices = [{**c, "delta": None} for c in event.body["choices"]]
            event.body = {**event.body, "choices": choices}


def _odd_logprobs(draft: Draft, choice: Body) -> Body:
    """Send log probabilities that are none, in the form of the wire or of the other one."""
    number = draft.rng.choice((NAN, -INFINITY, None, "x", -9999.0, 2.5))
    token = {"token": "a", "logprob": number, "bytes": None, "top_logprobs": [{"token": "b"}]}
    forms: tuple[Any, ...] = (
        {"tokens": ["a", "b"], "token_logprobs": [number], "top_logprobs": [{"a": number}]},
        {"tokens": ["a"], "token_logprobs": [number], "top_logprobs": None, "text_offset": []},
        {"tokens": None, "token_logprobs": None},
        {"content": [token, token], "refusal": None},
        {"content": None},
        {"content": [None, 7]},
        [],
        "none",
        number,
    )
    return {**choice, "logprobs": draft.rng.choice(forms)}


def _message_beside(draft: Draft) -> None:
    """Say the whole so far in a message beside each delta."""
    so_far = dict.fromkeys(draft.positions, "")
    for event in draft.events:
        for position, piece in event.says:
            so_far[position] += piece
            message = {"role": "assistant", "content": so_far[position]}
            choices = [{**choice, "message": message} for choice in event.body["choices"]]
            event.body = {**event.body, "choices": choices}


def _message_at_the_end(draft: Draft) -> None:
    """Say the whole text once more where it ends, as a message and not as a delta."""
    for event in draft.events:
        for position in event.ends:
            text = draft.truth.samples[position].text
            message = {"role": "assistant", "content": text}
            choices = [{**choice, "message": message} for choice in event.body["choices"]]
            event.body = {**event.body, "choices": choices}


def _odd_object(draft: Draft) -> None:
    """Say nonsense around the choices: who, when, and what it is."""
    odd = {"id": None, "created": "now", "object": 7, "model": None, "system_fingerprint": 5}
    bodies = [event.body for event in draft.events] if draft.streams else [draft.body]
    for body in bodies:
        if isinstance(body, dict):
            body.update(odd)


def _bare_object(draft: Draft) -> None:
    """Say nothing around the choices."""
    bodies = [event.body for event in draft.events] if draft.streams else [draft.body]
    for body in bodies:
        for name in ("id", "created", "object", "model", "system_fingerprint"):
            if isinstance(body, dict):
                body.pop(name, None)


def _text(name: str, families: tuple[str, ...], apply: Any, **more: Any) -> Deviation:
    return Deviation(f"text: {name}", "texts", families, apply, **more)


NAN, INFINITY = float("nan"), float("inf")
STREAM: dict[str, Any] = {
    "stage": "spoken",
    "modes": ("stream",),
    "excludes": frozenset({"labels"}),
}

SHAPES: tuple[Deviation, ...] = (
    _text(
        "null for choices",
        OPENAI,
        _extra({"choices": None}),
        source="RooCodeInc/Roo-Code#9105",
        **STREAM,
    ),
    _text("no choices in a chunk", OPENAI, _extra({"choices": []}), **STREAM),
    _text(
        "a chunk without choices",
        OPENAI,
        _without_choices,
        source="openai/openai-node#364",
        **STREAM,
    ),
    _text(
        "usage without choices",
        OPENAI,
        _usage_without_choices,
        source="Portkey-AI/gateway#1627",
        **STREAM,
    ),
    _text("an error that is null", OPENAI, _extra({"choices": [], "error": None}), **STREAM),
    _text(
        "a prompt's verdict",
        OPENAI,
        _extra({"choices": [], "prompt_filter_results": [{}]}),
        source="microsoft/semantic-kernel#3650",
        **STREAM,
    ),
    _text(
        "thinking before it",
        ("chat",),
        _thoughts,
        **{**STREAM, "excludes": frozenset({"labels", "indices"})},
    ),
    _text("null at the end", OPENAI, _null_at_the_end, **STREAM),
    _text("no delta at the end", ("chat",), _no_delta, **STREAM),
    _text("parts", ("chat",), _in_choice(_parts), stage="spoken", source="symfony/ai#2422"),
    _text("thinking beside it", ("chat",), _in_choice(_thinking), stage="spoken"),
    _text("fields beside it", OPENAI, _beside),
    _text("fields that are null", OPENAI, _in_choice(_null_fields), stage="spoken"),
    _text(
        "the whole so far beside it",
        ("chat",),
        _message_beside,
        source="open-webui/open-webui#9927",
        **STREAM,
    ),
    _text(
        "the whole again at the end",
        ("chat",),
        _message_at_the_end,
        source="abundantbeing/hermes-browser-extension#11",
        **STREAM,
    ),
    _text("nonsense around it", OPENAI, _odd_object, stage="spoken"),
    _text("log probabilities that are none", OPENAI, _in_choice(_odd_logprobs), stage="spoken"),
    _text("nothing around it", OPENAI, _bare_object, stage="spoken"),
)
