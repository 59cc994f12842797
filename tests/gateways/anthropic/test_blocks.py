from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.gateways.anthropic.blocks import Blocks
from app.gateways.stops import StopCutter
from app.vocabulary.chat.reply import merged
from app.vocabulary.errors import GatewayError
from tests.gateways.anthropic.chat import ROW
from tests.gateways.chat_rows import joined
from tests.gateways.rows import json_values
from tests.support.vendors.anthropic import named_event

WORDS = [
    "citations_delta", "content_block", "delta", "end_turn", "id", "input", "input_json_delta",
    "name", "partial_json", "redacted_thinking", "signature_delta", "stop_details", "stop_reason",
    "text", "text_delta", "thinking", "thinking_delta", "tool_use", "type",
]  # fmt: skip
KINDS = st.sampled_from(
    ["content_block_delta", "content_block_start", "content_block_stop", "message_delta",
     "message_start", "message_stop"]
)  # fmt: skip
TYPED = st.builds(
    lambda kind, fields: {**fields, "type": kind},
    st.sampled_from(WORDS),
    st.dictionaries(st.sampled_from(WORDS), json_values(*WORDS), max_size=3),
)
FIELDS = st.fixed_dictionaries({"content_block": TYPED, "delta": TYPED})
EVENTS = st.builds(lambda kind, fields: named_event({**fields, "type": kind}), KINDS, FIELDS)


@given(st.lists(EVENTS, max_size=8))
def test_no_stream_of_blocks_raises_anything_but_a_gateway_error(packets: list[bytes]) -> None:
    try:
        chunks = ROW.chunks(packets, stop="\n")
    except GatewayError:
        return
    joined(chunks)


@given(st.lists(TYPED, max_size=4))
def test_no_whole_reply_does_either(content: list[dict[str, Any]]) -> None:
    try:
        completion = ROW.decoded({"content": content, "stop_reason": "end_turn"}, stop="\n")
    except GatewayError:
        return
    assert completion.choices[0].finish_reason is not None


@pytest.mark.parametrize(
    ("pieces", "arguments"), [([], '{"city":"Rome"}'), ([""], '{"city":"Rome"}'), (["{}"], "{}")]
)
def test_arguments_at_the_beginning_of_a_call_count_if_none_follow(
    pieces: list[str], arguments: str
) -> None:
    blocks = Blocks(ROW.vendor, StopCutter(()))
    used = {"type": "tool_use", "id": "c1", "name": "f", "input": {"city": "Rome"}}
    told = [blocks.start(used)]
    told += [blocks.delta({"type": "input_json_delta", "partial_json": it}) for it in pieces]
    told.append(blocks.stop())
    reply = merged(reply for _, reply in told if reply is not None)
    assert reply is not None
    assert [call.arguments for call in reply.tool_calls] == [arguments]


@pytest.mark.parametrize("begun", [{}, {"text": None}, {"text": ""}])
def test_a_text_may_begin_without_any(begun: dict[str, Any]) -> None:
    events: list[dict[str, Any]] = [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", **begun}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ]
    choice, _ = joined(ROW.chunks(map(named_event, events)))
    assert (choice.text, choice.finish_reason) == ("a", "stop")
