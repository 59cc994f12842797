from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.vocabulary.errors import GatewayError
from tests.gateways.bedrock.chat import ROW
from tests.gateways.chat_rows import joined, reply_of
from tests.gateways.rows import json_values
from tests.support.vendors.bedrock import event_frame

STOP = event_frame("messageStop", {"stopReason": "end_turn"})
SERVER = {"toolUse": {"toolUseId": "s", "name": "nova_grounding", "type": "server_tool_use"}}


def event(kind: str, index: Any, **fields: Any) -> bytes:
    return event_frame(kind, {"contentBlockIndex": index, **fields})


def test_the_vendors_own_tools_are_no_calls() -> None:
    frames = [
        event("contentBlockStart", 0, start=SERVER),
        event("contentBlockDelta", 0, delta={"toolUse": {"input": '{"q"'}}),
        event("contentBlockStop", 0),
        event("contentBlockDelta", 1, delta={"text": "a"}),
    ]
    choice, _ = joined(ROW.chunks([*frames, STOP]))
    assert (choice.text, choice.finish_reason, reply_of(choice).tool_calls) == ("a", "stop", ())
    used = {"toolUse": {**SERVER["toolUse"], "input": {}}}
    output = {"message": {"content": [used, {"text": "a"}]}}
    (whole,) = ROW.decoded({"output": output, "stopReason": "end_turn"}).choices
    assert (whole.text, reply_of(whole).tool_calls) == ("a", ())


@pytest.mark.parametrize("kind", [{}, {"type": "tool_use"}, {"type": ""}, {"type": None}])
def test_a_call_of_the_callers_tool_may_name_its_type(kind: dict[str, Any]) -> None:
    """Claude's models on Bedrock have sent `tool_use`, which Converse's description lacks."""
    used = {"toolUseId": "t1", "name": "f", **kind}
    output = {"message": {"content": [{"toolUse": {**used, "input": {"city": "Rome"}}}]}}
    (whole,) = ROW.decoded({"output": output, "stopReason": "tool_use"}).choices
    frames = [
        event("contentBlockStart", 0, start={"toolUse": used}),
        event("contentBlockDelta", 0, delta={"toolUse": {"input": '{"city":"Rome"}'}}),
        event("contentBlockStop", 0),
    ]
    choice, _ = joined(
        ROW.chunks([*frames, event_frame("messageStop", {"stopReason": "tool_use"})])
    )
    for found in (whole, choice):
        (call,) = reply_of(found).tool_calls
        assert (call.id, call.name, call.arguments) == ("t1", "f", '{"city":"Rome"}')
        assert found.finish_reason == "tool_calls"


def test_text_inside_of_citations_is_text() -> None:
    cited = {"citationsContent": {"content": [{"text": "Rome"}, {"text": " is"}], "citations": []}}
    output = {"message": {"content": [cited, {"text": " old"}]}}
    assert (
        ROW.decoded({"output": output, "stopReason": "end_turn"}).choices[0].text == "Rome is old"
    )


def test_images_are_data_urls_whole_and_streamed() -> None:
    image = {"format": "jpeg", "source": {"bytes": "AAAA"}}
    output = {"message": {"content": [{"image": image}, {"text": "a"}, {"image": image}]}}
    (whole,) = ROW.decoded({"output": output, "stopReason": "end_turn"}).choices
    frames = [
        event("contentBlockStart", 0, start={"image": {"format": "jpeg"}}),
        event("contentBlockDelta", 0, delta={"image": {"source": {"bytes": "AAAA"}}}),
        event("contentBlockDelta", 1, delta={"text": "a"}),
        event("contentBlockDelta", 2, delta={"image": image}),
    ]
    choice, _ = joined(ROW.chunks([*frames, STOP]))
    url = {"url": "data:image/jpeg;base64,AAAA"}
    images = [{"type": "image_url", "image_url": url, "index": at} for at in (0, 1)]
    for found in (whole, choice):
        assert (found.text, reply_of(found).extra) == ("a", {"images": images})


@pytest.mark.parametrize("delta", [{"reasoningContent": {"text": "hm"}}, {"reasoningContent": {}}])
def test_reasoning_without_a_signature_is_text_alone(delta: dict[str, Any]) -> None:
    frames = [event("contentBlockDelta", 0, delta=delta), event("contentBlockDelta", 1, delta={
        "text": "a"})]  # fmt: skip
    reply = reply_of(joined(ROW.chunks([*frames, STOP]))[0])
    assert (reply.reasoning, reply.extra) == (delta["reasoningContent"].get("text", ""), None)


WORDS = ["contentBlockIndex", "delta", "image", "input", "name", "reasoningContent",
         "redactedContent", "signature", "start", "text", "toolUse", "toolUseId",
         "type"]  # fmt: skip
KINDS = st.sampled_from(
    ["contentBlockDelta", "contentBlockStart", "contentBlockStop", "messageStop", "metadata"]
)
FRAMES = st.builds(
    event_frame, KINDS, st.dictionaries(st.sampled_from(WORDS), json_values(*WORDS), max_size=4)
)


@given(st.lists(FRAMES, max_size=6))
def test_no_stream_of_blocks_raises_anything_but_a_gateway_error(frames: list[bytes]) -> None:
    try:
        chunks = ROW.chunks(frames)
    except GatewayError:
        return
    joined(chunks)


@given(st.lists(json_values(*WORDS), max_size=4))
def test_no_whole_reply_does_either(content: list[Any]) -> None:
    try:
        ROW.decoded({"output": {"message": {"content": content}}, "stopReason": "end_turn"})
    except GatewayError:
        return


def test_a_blocks_number_may_be_a_float() -> None:
    """Some JSON writers have no integers."""

    def piece(index: float, **delta: Any) -> bytes:
        return event("contentBlockDelta", index, delta=delta)

    def start(index: float, name: str) -> bytes:
        used = {"toolUseId": f"t{index:g}", "name": name}
        return event("contentBlockStart", index, start={"toolUse": used})

    frames = [
        start(0.0, "f"),
        piece(0.0, toolUse={"input": "{}"}),
        start(1.0, "g"),
        piece(1.0, toolUse={"input": '{"a":'}),
        piece(1.0, toolUse={"input": "1}"}),
    ]
    choice, _ = joined(ROW.chunks([*frames, STOP]))
    calls = [(call.id, call.name, call.arguments) for call in reply_of(choice).tool_calls]
    assert calls == [("t0", "f", "{}"), ("t1", "g", '{"a":1}')]
