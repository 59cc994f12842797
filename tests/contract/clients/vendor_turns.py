"""What OpenAI's chat answers, whole or streamed, from the turns of a scene."""

from collections.abc import Iterator, Sequence
from typing import Any

from tests.contract.clients.scenes import Call, Turn
from tests.support.vendor import DONE, Asked, Reply, json_reply, stream_reply, usage_of

USAGE = usage_of(11, 7)
#: How many characters of a call's arguments come at a time.
ARGUMENTS_CHARACTERS = 5


def answer(asked: Asked, turn: Turn) -> Reply:
    """Return the vendor's response to a request."""
    model = asked.body["model"]
    if not asked.body.get("stream"):
        return json_reply(_body("chat.completion", model, [_whole(turn)], usage=USAGE))
    counted = (asked.body.get("stream_options") or {}).get("include_usage")
    usage = [_chunk(model, [], usage=USAGE)] if counted else []
    deltas = [_chunk(model, [_choice(delta)]) for delta in _deltas(turn)]
    end = _chunk(model, [_choice({}, _finish(turn))])
    return stream_reply(*deltas, end, *usage, DONE)


def _whole(turn: Turn) -> dict[str, Any]:
    message = {"role": "assistant", "content": turn.text or None, "refusal": None}
    calls = {"tool_calls": [_call(at, call) for at, call in enumerate(turn.calls)]}
    whole = message | calls if turn.calls else message
    return {"index": 0, "message": whole, "logprobs": None, "finish_reason": _finish(turn)}


def _finish(turn: Turn) -> str:
    return "tool_calls" if turn.calls else turn.finish


def _call(at: int, call: Call) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.text}
    return {"id": f"call_{at}", "type": "function", "function": function}


def _deltas(turn: Turn) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": None if turn.calls else "", "refusal": None}
    words = turn.text.split(" ") if turn.text else []
    for at, word in enumerate(words):
        yield {"content": f" {word}" if at else word}
    for at, call in enumerate(turn.calls):
        begun = _call(at, call)
        begun["function"] |= {"arguments": ""}
        yield {"tool_calls": [{"index": at, **begun}]}
        for start in range(0, len(call.text), ARGUMENTS_CHARACTERS):
            piece = call.text[start : start + ARGUMENTS_CHARACTERS]
            yield {"tool_calls": [{"index": at, "function": {"arguments": piece}}]}


def _choice(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}


def _chunk(model: str, choices: Sequence[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return _body("chat.completion.chunk", model, choices, **more)


def _body(kind: str, model: str, choices: Sequence[dict[str, Any]], **more: Any) -> dict[str, Any]:
    head = {"id": "chatcmpl-1", "object": kind, "created": 1_790_000_000, "model": model}
    return {**head, "choices": list(choices), **more}
