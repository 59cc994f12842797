"""The chunks of a stream, as the official clients join them."""

from collections.abc import Iterable
from typing import Any

import openai.types.chat
from openai.lib.streaming.chat import ChatCompletionStreamState

from app.api.schemas.chat.chunks import ChatChunks
from app.vocabulary.chat.reply import Reply
from app.vocabulary.chat.tools import ToolCall
from app.vocabulary.completion import Choice, Completion, Usage


def chunk(*choices: Choice, **more: Any) -> Completion:
    """Return a chunk with these choices."""
    return Completion("chatcmpl-1", 1, "m", choices, **more)


def dumped(*chunks: Completion) -> list[dict[str, Any]]:
    """Return the objects of a stream; OpenAI's client must read each."""
    dumper = ChatChunks()
    bodies = [body for it in chunks for body in dumper.dump(it)]
    for body in bodies:
        openai.types.chat.ChatCompletionChunk.model_validate(body, strict=True)
        assert body["object"] == "chat.completion.chunk"
    return bodies


def deltas(bodies: Iterable[dict[str, Any]]) -> list[tuple[int, dict[str, Any], str | None]]:
    """Return each choice's index, delta and end, one after another."""
    return [
        (choice["index"], choice["delta"], choice["finish_reason"])
        for body in bodies
        for choice in body["choices"]
    ]


def with_reply(text: str = "", end: Any = None, **reply: Any) -> Completion:
    """Return a chunk of one choice with such a reply."""
    return chunk(Choice(0, text, end, None, None, None, Reply(**reply)))


def call(index: int, call_id: str | None, name: str | None, arguments: str) -> ToolCall:
    """Return a piece of a call."""
    return ToolCall(index, call_id, name, arguments)


FIRST = {"role": "assistant", "refusal": None}


def test_the_role_is_in_the_first_delta_and_the_end_stands_alone() -> None:
    bodies = dumped(chunk(Choice(0, "a")), chunk(Choice(0, "b")), chunk(Choice(0, "c", "stop")))
    assert deltas(bodies) == [
        (0, {**FIRST, "content": "a"}, None),
        (0, {"content": "b"}, None),
        (0, {"content": "c"}, None),
        (0, {}, "stop"),
    ]


def test_the_usual_chunk_has_what_every_chunk_has() -> None:
    first, second = dumped(chunk(Choice(0, "a")), chunk(Choice(0, "b")))
    assert second == {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [
            {"index": 0, "delta": {"content": "b"}, "logprobs": None, "finish_reason": None}
        ],
    }
    assert first.keys() == second.keys()
    named = {"system_fingerprint": "fp", "service_tier": "flex", "extra": {"citations": ["u"]}}
    _, second = dumped(chunk(Choice(0, "a"), **named), chunk(Choice(0, "b"), **named))
    assert (second["system_fingerprint"], second["service_tier"]) == ("fp", "flex")
    assert second["citations"] == ["u"]


def test_an_empty_answer_still_has_a_role_and_an_end() -> None:
    bodies = dumped(chunk(Choice(0, "", "stop")))
    assert deltas(bodies) == [(0, {**FIRST, "content": ""}, None), (0, {}, "stop")]


def test_what_a_filter_has_left_nothing_of_has_no_content() -> None:
    bodies = dumped(chunk(Choice(0, "", "content_filter")))
    assert deltas(bodies) == [(0, {**FIRST, "content": None}, None), (0, {}, "content_filter")]


def test_choices_each_have_a_role_and_stay_side_by_side() -> None:
    both = chunk(Choice(0, "a"), Choice(1, "b"))
    bodies = dumped(both, both, chunk(Choice(1, "", "stop"), Choice(0, "c", "length")))
    assert [len(body["choices"]) for body in bodies] == [2, 2, 2, 1]
    assert deltas(bodies) == [
        (0, {**FIRST, "content": "a"}, None),
        (1, {**FIRST, "content": "b"}, None),
        (0, {"content": "a"}, None),
        (1, {"content": "b"}, None),
        (1, {}, "stop"),
        (0, {"content": "c"}, None),
        (0, {}, "length"),
    ]


def test_choices_begin_in_the_order_of_their_indices() -> None:
    last = chunk(Choice(2, "c", "stop"), Choice(0, "a", "stop"))
    bodies = dumped(last, chunk(Choice(1, "b")), chunk(Choice(1, "", "stop")))
    assert deltas(bodies) == [
        (0, {**FIRST, "content": "a"}, None),
        (1, {**FIRST, "content": ""}, None),
        (2, {**FIRST, "content": "c"}, None),
        (0, {}, "stop"),
        (2, {}, "stop"),
        (1, {"content": "b"}, None),
        (1, {}, "stop"),
    ]
    state: Any = ChatCompletionStreamState()
    for body in bodies:
        state.handle_chunk(openai.types.chat.ChatCompletionChunk.model_validate(body))
    found = [choice.message.content for choice in state.get_final_completion().choices]
    assert found == ["a", "b", "c"]


def test_a_call_begins_once_and_each_begins_in_its_own_chunk() -> None:
    bodies = dumped(
        with_reply(tool_calls=(call(0, "c1", "f", ""),)),
        with_reply(tool_calls=(call(0, None, None, "{}"), call(1, "c2", "g", ""))),
        with_reply(end="tool_calls", tool_calls=(call(1, None, None, "{}"),)),
    )
    assert deltas(bodies) == [
        (0, {**FIRST, "content": None, "tool_calls": [_begun(0, "c1", "f")]}, None),
        (0, {"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]}, None),
        (0, {"tool_calls": [_begun(1, "c2", "g")]}, None),
        (0, {"tool_calls": [{"index": 1, "function": {"arguments": "{}"}}]}, None),
        (0, {}, "tool_calls"),
    ]


def _begun(index: int, call_id: str, name: str) -> dict[str, Any]:
    function = {"name": name, "arguments": ""}
    return {"index": index, "id": call_id, "type": "function", "function": function}


def test_reasoning_refusals_and_vendors_fields_are_passed_on() -> None:
    bodies = dumped(
        with_reply(reasoning="why"),
        with_reply("a", reasoning="!"),
        with_reply(refusal="no"),
        with_reply(extra={"thinking_blocks": [{"type": "thinking"}]}),
    )
    assert deltas(bodies) == [
        (0, {**FIRST, "content": None, "reasoning_content": "why"}, None),
        (0, {"content": "a", "reasoning_content": "!"}, None),
        (0, {"refusal": "no"}, None),
        (0, {"thinking_blocks": [{"type": "thinking"}]}, None),
    ]


def test_log_probabilities_and_the_vendors_reason_are_where_they_belong() -> None:
    choice = Choice(0, "a", "length", {"content": []}, "max_len", {"matched_stop": 7})
    first, last = dumped(chunk(choice))
    assert first["choices"][0]["logprobs"] == {"content": [], "refusal": None}
    assert last["choices"][0] == {
        "index": 0,
        "delta": {},
        "logprobs": None,
        "finish_reason": "length",
        "native_finish_reason": "max_len",
        "matched_stop": 7,
    }
    _, second = dumped(chunk(Choice(0, "a")), chunk(Choice(0, "b", extra={"offset": 1})))
    assert second["choices"][0]["offset"] == 1


def test_a_vendors_own_field_of_a_choice_may_have_any_name() -> None:
    names = ("choice", "self", "end", "")
    (body,) = dumped(chunk(Choice(0, "a", extra=dict.fromkeys(names, 1))))
    assert all(body["choices"][0][name] == 1 for name in names)


def test_what_belongs_to_the_whole_stream_comes_once() -> None:
    """A chunk that is sent as several says it in the first; the chunk of the usage, never."""
    usage = Usage(prompt_tokens=1, completion_tokens=2, total_tokens=3)
    extra = {"citations": ["u"]}
    bodies = dumped(chunk(Choice(0, "a", "stop"), extra=extra), chunk(usage=usage, extra=extra))
    assert ["citations" in body for body in bodies] == [True, False, False]
    assert bodies[-1]["choices"] == []
    assert ChatChunks().usage(usage)["total_tokens"] == 3


def test_openais_client_joins_the_whole_message() -> None:
    state: ChatCompletionStreamState[None] = ChatCompletionStreamState()
    for body in dumped(
        with_reply(reasoning="why"),
        chunk(Choice(0, "I ")),
        chunk(Choice(0, "look")),
        with_reply(tool_calls=(call(0, "c1", "f", ""), call(0, None, None, '{"a":'))),
        with_reply(tool_calls=(call(0, None, None, " 1}"), call(1, "c2", "g", "{}"))),
        chunk(Choice(0, "", "tool_calls")),
    ):
        state.handle_chunk(openai.types.chat.ChatCompletionChunk.model_validate(body))
    message = state.get_final_completion().choices[0].message
    assert (message.role, message.content) == ("assistant", "I look")
    assert message.to_dict()["reasoning_content"] == "why"
    assert [
        (it.id, it.function.name, it.function.arguments) for it in message.tool_calls or []
    ] == [
        ("c1", "f", '{"a": 1}'),
        ("c2", "g", "{}"),
    ]
