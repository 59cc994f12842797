import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.gateways.bedrock.converse import ConverseGateway
from app.gateways.bridge import Bridge
from app.vocabulary.completion import Usage
from app.vocabulary.errors import (
    GatewayError,
    InvalidRequest,
    ModelNotFound,
    UnsupportedParameter,
    VendorFailed,
    VendorRateLimited,
)
from tests.gateways.bedrock.rows import request, row, sent, streamed, summary
from tests.gateways.reading import decode
from tests.support.vendors.base import Said
from tests.support.vendors.bedrock import (
    event_frame,
    exception_frame,
    frame,
    message_frames,
    token_usage,
    whole_message,
)

GATEWAY = Bridge(ConverseGateway())
CLAUDE = "anthropic.claude-sonnet-4-5-20250929-v1:0"
ASKED = request(CLAUDE)
SAID = Said(prompt_tokens=100, cached_tokens=80, completion_tokens=5, finish="length")
COUNTED = Usage(prompt_tokens=100, completion_tokens=5, total_tokens=105, cached_tokens=80)


def test_a_prompt_is_a_users_message_and_nothing_is_added() -> None:
    assert sent(GATEWAY, ASKED) == {"messages": [{"role": "user", "content": [{"text": "Once"}]}]}


def test_what_the_caller_set_has_its_word() -> None:
    asked = request(
        CLAUDE, max_tokens=1, temperature=1, top_p=0.5, stop="\n", user="u-1", seed=None
    )
    body = sent(GATEWAY, asked)
    assert body["inferenceConfig"] == {
        "maxTokens": 1,
        "topP": 0.5,
        "stopSequences": ["\n"],
    }
    assert body["requestMetadata"] == {"user": "u-1"}


@pytest.mark.parametrize(
    ("model", "segment"),
    [
        (CLAUDE, "anthropic.claude-sonnet-4-5-20250929-v1%3A0"),
        ("us.amazon.nova-pro-v1:0", "us.amazon.nova-pro-v1%3A0"),
        (
            "arn:aws:bedrock:us-east-1:1:application-inference-profile/a1b2",
            "arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Aapplication-inference-profile%2Fa1b2",
        ),
    ],
)
def test_a_models_id_is_one_segment_of_the_path(model: str, segment: str) -> None:
    url = GATEWAY.encode(row(), request(model)).url
    assert url == f"https://bedrock-runtime.us-east-1.amazonaws.com/model/{segment}/converse"
    url = GATEWAY.encode(row(), request(model, stream=True)).url
    assert url.endswith(f"/model/{segment}/converse-stream")


@pytest.mark.parametrize("model", ["..", ".", "a b", "caf\u00e9", "a?b", "a" * 2049, "/a", "a\n"])
def test_what_is_no_models_id_is_no_model(model: str) -> None:
    with pytest.raises(ModelNotFound) as caught:
        GATEWAY.encode(row(), request(model))
    assert caught.value.param == "model"


@pytest.mark.parametrize(
    ("name", "value"),
    [("temperature", 1.5), ("max_tokens", 0)],
)
def test_a_value_that_the_vendor_refuses_is_refused_with_its_range(name: str, value: Any) -> None:
    with pytest.raises(InvalidRequest, match=r"from 0 to 1|at least 1") as caught:
        GATEWAY.encode(row(), request(CLAUDE, **{name: value}))
    assert caught.value.param == name


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("best_of", 2),
        ("frequency_penalty", 0.5),
        ("logit_bias", {"50256": -100}),
        ("logprobs", 0),
        ("presence_penalty", 0.5),
        ("seed", 1),
        ("suffix", "the end"),
        ("user", "a|b"),
        ("user", "a" * 257),
        ("extra", {"top_k": 5}),
    ],
)
def test_what_the_wire_has_no_word_for_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(UnsupportedParameter) as caught:
        GATEWAY.encode(row(), request(CLAUDE, **{name: value}))
    assert caught.value.param == ("top_k" if name == "extra" else name)


def test_a_whole_answer_is_its_text_alone_and_cached_tokens_are_counted() -> None:
    body = json.dumps(whole_message(SAID)).encode()
    answer = decode(GATEWAY, row(), ASKED, body)
    (choice,) = answer.choices
    assert (choice.text, choice.finish_reason) == (SAID.text, "length")
    assert (answer.usage, answer.model, answer.id) == (COUNTED, CLAUDE, "")


FRAMES = b"".join(message_frames(SAID))


@pytest.mark.parametrize("packet", [*range(1, 200), len(FRAMES)])
def test_a_stream_may_be_cut_anywhere(packet: int) -> None:
    chunks = streamed(GATEWAY, ASKED, FRAMES, packet)
    assert summary(chunks) == (SAID.text, ["length"], COUNTED)


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("tool_use", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("guardrail_intervened", "content_filter"),
        ("content_filtered", "content_filter"),
    ],
)
def test_stop_reasons_are_narrowed(word: str, reason: str) -> None:
    body = json.dumps({**whole_message(SAID), "stopReason": word}).encode()
    assert decode(GATEWAY, row(), ASKED, body).choices[0].finish_reason == reason
    assert summary(streamed(GATEWAY, ASKED, stopped(word)))[1] == [reason]


@pytest.mark.parametrize("word", ["malformed_model_output", "malformed_tool_use"])
def test_a_failure_is_no_stop(word: Any) -> None:
    body = json.dumps({**whole_message(SAID), "stopReason": word}).encode()
    with pytest.raises(VendorFailed):
        decode(GATEWAY, row(), ASKED, body)
    with pytest.raises(VendorFailed):
        streamed(GATEWAY, ASKED, stopped(word))


@pytest.mark.parametrize(
    ("word", "reason", "native"),
    [("new", "length", "new"), (7, "length", "7"), (None, "stop", None), ("", "stop", None)],
)
def test_a_stop_without_a_word_that_we_know_is_an_end(
    word: Any, reason: str, native: str | None
) -> None:
    body = json.dumps({**whole_message(SAID), "stopReason": word}).encode()
    (choice,) = decode(GATEWAY, row(), ASKED, body).choices
    (end,) = (c for chunk in streamed(GATEWAY, ASKED, stopped(word)) for c in chunk.choices)
    assert {(c.finish_reason, c.native_finish_reason) for c in (choice, end)} == {(reason, native)}


def stopped(word: Any) -> bytes:
    return event_frame("messageStop", {"stopReason": word})


def test_only_the_last_stop_counts() -> None:
    body = stopped("max_tokens") + stopped("end_turn")
    assert summary(streamed(GATEWAY, ASKED, body)) == ("", ["stop"], None)


@pytest.mark.parametrize(
    ("change", "counted"),
    [
        ({"cacheWriteInputTokens": 7}, (107, 80, 7)),
        ({"cacheReadInputTokens": None}, (20, 0, 0)),
        ({"inputTokens": None}, (0, 0, 0)),
        ({"outputTokens": "x"}, (100, 80, 0)),
        ({"inputTokens": -1}, (0, 0, 0)),
        ({"inputTokens": True}, (0, 0, 0)),
        ({"cacheReadInputTokens": 1.5e300}, (20, 0, 0)),
    ],
)
def test_a_count_that_is_none_leaves_the_others(change: dict[str, Any], counted: Any) -> None:
    usage = {**token_usage(SAID), **change}
    body = json.dumps({**whole_message(SAID), "usage": usage}).encode()
    said = decode(GATEWAY, row(), ASKED, body).usage
    found = said and (said.prompt_tokens, said.cached_tokens, said.cache_write_tokens)
    assert found == counted


def test_a_stream_that_breaks_off_before_its_stop_is_not_whole() -> None:
    frames = message_frames(SAID)
    for count in range(len(frames) - 2):
        with pytest.raises(VendorFailed, match="before it was complete") as caught:
            streamed(GATEWAY, ASKED, b"".join(frames[:count]) + frames[count][:-1])
        assert caught.value.billable


def test_a_stream_that_breaks_off_after_its_stop_has_no_count() -> None:
    frames = b"".join(message_frames(SAID)[:-1])
    assert summary(streamed(GATEWAY, ASKED, frames)) == (SAID.text, ["length"], None)


def test_an_exception_ends_a_stream_after_what_came_before_it() -> None:
    decoder = GATEWAY.reader(row(), ASKED)
    body = b"".join(message_frames(SAID)[:5])
    chunks = decoder.feed(body + exception_frame("throttlingException", message="Slow down."))
    assert "one" in [choice.text for chunk in chunks for choice in chunk.choices]
    with pytest.raises(VendorRateLimited, match="Slow down") as caught:
        list(decoder.close())
    assert caught.value.billable


def test_an_error_that_is_no_exception_ends_a_stream_too() -> None:
    headers = {":message-type": "error", ":error-code": "500", ":error-message": "It broke."}
    with pytest.raises(VendorFailed, match="It broke"):
        streamed(GATEWAY, ASKED, frame(headers, b""))


_KEYS = st.sampled_from(["output", "message", "content", "text", "usage", "stopReason", "delta"])
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(_KEYS, inner),
    max_leaves=12,
)
_KINDS = st.sampled_from(["contentBlockDelta", "messageStop", "metadata", "other", ""])


@given(JSON, _KINDS)
def test_no_json_breaks_more_than_its_answer(payload: Any, kind: str) -> None:
    body = json.dumps(payload).encode()
    headers = {":event-type": kind, ":message-type": "event"}
    for read in (
        lambda: decode(GATEWAY, row(), ASKED, body),
        lambda: decode(GATEWAY, row(), ASKED, body[1:]),
        lambda: streamed(GATEWAY, ASKED, frame(headers, body)),
    ):
        with contextlib.suppress(GatewayError):  # anything else fails the test
            read()


@pytest.mark.parametrize(
    ("tier", "told"),
    [
        ({"type": "flex"}, "flex"),
        ({"type": ""}, None),
        ({"type": 5}, None),
        ({"type": ["flex"]}, None),
        ("flex", None),
        (None, None),
    ],
)
def test_how_a_request_was_served_is_a_word_or_nothing(tier: Any, told: str | None) -> None:
    content = {"message": {"role": "assistant", "content": [{"text": "a"}]}}
    answer = {"output": content, "stopReason": "end_turn", "serviceTier": tier}
    found = decode(GATEWAY, row(), ASKED, json.dumps(answer).encode())
    assert found.service_tier == told
