import json
from typing import Any

import pytest
from hypothesis import given

from app.gateways.anthropic.usage import decode_usage
from app.transport.auth.schemes import authenticated
from app.vocabulary.completion import HalfUsage, Usage
from app.vocabulary.errors import GatewayError, InvalidRequest, UnsupportedParameter, VendorFailed
from tests.gateways.anthropic.wire import ROW, STOP, delta, end, message, start, stream
from tests.gateways.rows import Row, bodies, told

# What is sent.


def test_a_request_holds_what_the_wire_requires_and_what_the_caller_set() -> None:
    encoded = ROW.gateway.encode(ROW.vendor, ROW.asks("claude-haiku-4-5"))
    assert encoded.url == "https://api.anthropic.com/v1/messages"
    assert authenticated(ROW.vendor, encoded) == {
        "content-type": "application/json",
        "anthropic-version": "2023-06-01",
        "x-api-key": "sk-test",
    }
    assert json.loads(encoded.body) == {
        "model": "claude-haiku-4-5",
        "max_tokens": 4096,
        "messages": [{"role": "user", "content": "hi"}],
    }


def test_every_parameter_that_the_wire_has_is_sent_in_its_words() -> None:
    sent = ROW.sent(max_tokens=9, stop=("END", "\n"), temperature=0, user="u-1", stream=True)
    assert {name: sent[name] for name in sent.keys() - {"model", "messages"}} == {
        "max_tokens": 9,
        "stop_sequences": ["END"],
        "temperature": 0,
        "metadata": {"user_id": "u-1"},
        "stream": True,
    }


def test_no_tokens_at_all_may_be_asked_for() -> None:
    assert ROW.sent(max_tokens=0)["max_tokens"] == 0


def test_sampling_that_changes_nothing_is_not_sent() -> None:
    assert "top_p" not in ROW.sent(temperature=0.5, top_p=1)
    assert "temperature" not in ROW.sent(temperature=1, top_p=0.5)


@pytest.mark.parametrize(
    "name",
    ["claude-opus-4-7", "claude-opus-4-8", "claude-opus-5-5", "claude-sonnet-5", "claude-haiku-5-5",
     "claude-fable-5-2", "claude-mythos-preview"],
)  # fmt: skip
def test_models_without_sampling_refuse_it_unless_it_changes_nothing(name: str) -> None:
    assert not {"temperature", "top_p"} & ROW.sent(name, temperature=1, top_p=1.0).keys()
    for parameter in ("temperature", "top_p"):
        with pytest.raises(UnsupportedParameter) as caught:
            ROW.sent(name, **{parameter: 0.5})
        assert caught.value.param == parameter


@pytest.mark.parametrize(
    "name",
    ["claude-opus-4-6", "claude-opus-4-5-20251101", "claude-haiku-4-5-20251001",
     "claude-sonnet-4-6", "claude-3-5-sonnet-20241022", "claude-opus-4-20250514"],
)  # fmt: skip
def test_older_models_take_a_temperature(name: str) -> None:
    assert ROW.sent(name, temperature=0.5)["temperature"] == 0.5


def test_a_temperature_above_the_vendors_range_is_refused_with_the_range() -> None:
    with pytest.raises(InvalidRequest, match="from 0 to 1") as caught:
        ROW.sent("claude-haiku-4-5", temperature=1.2)
    assert caught.value.param == "temperature"


def test_a_dropped_temperature_is_named_whatever_its_value() -> None:
    lax = Row("anthropic", "ANTHROPIC_API_KEY", drop_unsupported=True)
    encoded = lax.gateway.encode(lax.vendor, lax.asks("claude-opus-5", temperature=1.5, seed=1))
    assert encoded.dropped == ("seed", "temperature")


@pytest.mark.parametrize(
    "parameter",
    ["best_of", "frequency_penalty", "logit_bias", "logprobs", "presence_penalty", "seed",
     "suffix"],
)  # fmt: skip
def test_what_the_wire_has_no_word_for_is_refused_by_name(parameter: str) -> None:
    values: dict[str, Any] = {"logit_bias": {"5": 1}, "suffix": "end"}
    with pytest.raises(UnsupportedParameter) as caught:
        ROW.sent(**{parameter: values.get(parameter, 2)})
    assert caught.value.param == parameter


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(UnsupportedParameter, match="top_k"):
        ROW.sent(extra={"top_k": 5})


@pytest.mark.parametrize("prompt", ["", " \n"])
def test_a_prompt_that_the_vendor_would_refuse_is_refused_by_the_callers_name(prompt: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        ROW.sent(prompt=prompt)
    assert caught.value.param == "prompt"
    assert "`prompt`" in caught.value.message


def test_an_answer_is_the_text_of_its_blocks_without_the_thinking() -> None:
    content = [
        {"type": "thinking", "thinking": "hmm", "signature": "s"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "text", "text": "one"},
        {"type": "text", "text": " two"},
    ]
    completion = ROW.decoded(message(content=content))
    (choice,) = completion.choices
    assert (completion.id, completion.model) == ("msg_1", "c-1")
    assert (choice.index, choice.text, choice.finish_reason) == (0, "one two", "stop")


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("tool_use", "stop"),
        ("pause_turn", "length"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "content_filter"),
    ],
)
def test_every_reason_of_the_vendor_is_one_of_three(word: str, reason: str) -> None:
    assert ROW.decoded(message(stop_reason=word)).choices[0].finish_reason == reason
    assert told(ROW.chunks(stream(delta("a"), end(word), STOP)))[1] == [reason]


def test_an_answer_without_a_word_is_an_empty_text() -> None:
    assert ROW.decoded(message(content=[], stop_reason="refusal")).choices[0].text == ""


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not json",
        b"\xff",
        [],
        None,
        {},
        message(content=None),
        message(content=["one"]),
        message(content=[{"type": "text"}]),
        message(content=[{"type": "text", "text": 5}]),
        {"type": "error"},
    ],
)
def test_an_answer_that_is_none_fails_and_may_be_billed(body: Any) -> None:
    error = ROW.refusal(body)
    assert isinstance(error, VendorFailed)
    assert error.billable


@given(bodies("type", "message", "content", "text", "stop_reason", "end_turn", "usage", "error"))
def test_no_whole_answer_raises_anything_but_a_gateway_error(body: bytes) -> None:
    try:
        completion = ROW.decoded(body, stop="\n")
    except GatewayError:
        return
    assert completion.choices[0].finish_reason is not None


# Counts.

#: What is known where only the output is counted.
HALF = HalfUsage(completion_tokens=2, total_tokens=2, lacks="prompt")


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        (
            {"input_tokens": 3, "output_tokens": 2},
            Usage(prompt_tokens=3, completion_tokens=2, total_tokens=5),
        ),
        (
            {
                "input_tokens": 3,
                "cache_creation_input_tokens": 20,
                "cache_read_input_tokens": 100,
                "output_tokens": 7,
                "output_tokens_details": {"thinking_tokens": 4},
            },
            Usage(
                prompt_tokens=123,
                completion_tokens=7,
                total_tokens=130,
                cached_tokens=100,
                cache_write_tokens=20,
                reasoning_tokens=4,
            ),
        ),
        (
            {"input_tokens": 3, "cache_read_input_tokens": None, "output_tokens": 2},
            Usage(prompt_tokens=3, completion_tokens=2, total_tokens=5),
        ),
        ({"input_tokens": 0, "output_tokens": 0}, None),
        ({"input_tokens": "x", "output_tokens": 2}, HALF),
        ({"input_tokens": -3, "output_tokens": 2}, HALF),
        ({"input_tokens": True, "output_tokens": 2}, HALF),
        ({"output_tokens": 2}, HALF),
        ({}, None),
        (None, None),
        ([1], None),
    ],
)
def test_cached_tokens_are_added_to_the_vendors_count(usage: Any, counted: Usage | None) -> None:
    assert decode_usage(usage) == counted
    assert ROW.decoded(message(usage=usage)).usage == counted


def test_counts_at_a_streams_end_replace_those_at_its_start() -> None:
    events = stream(
        start(input_tokens=3, cache_read_input_tokens=100, output_tokens=1),
        delta("a"),
        end(None, output_tokens=20),
        end(output_tokens=50, output_tokens_details={"thinking_tokens": 40}),
        STOP,
    )
    usage = told(ROW.chunks(events))[2]
    assert usage == Usage(
        prompt_tokens=103,
        completion_tokens=50,
        total_tokens=153,
        cached_tokens=100,
        reasoning_tokens=40,
    )


def test_a_stream_that_has_hardly_begun_has_counted_its_prompt_alone() -> None:
    decoder = ROW.gateway.reader(ROW.vendor, ROW.asks(stream=True))
    packets = stream(start(input_tokens=3, output_tokens=1), delta("one"), delta(" two"))
    chunks = [chunk for packet in packets for chunk in decoder.feed(packet)]
    begun = HalfUsage(prompt_tokens=3, total_tokens=3, lacks="completion")
    assert [chunk.usage for chunk in chunks] == [begun, None, None]


@pytest.mark.parametrize(
    ("reason", "finish", "native"),
    [(None, "stop", None), ("no such reason", "length", "no such reason"), (5, "length", "5")],
)
def test_a_whole_message_is_an_answer_whatever_it_says_of_its_end(
    reason: Any, finish: str, native: str | None
) -> None:
    (choice,) = ROW.decoded(message(stop_reason=reason)).choices
    assert (choice.text, choice.finish_reason) == ("one", finish)
    assert choice.native_finish_reason == native


@pytest.mark.parametrize(
    ("usage", "tier"),
    [
        ({"service_tier": "batch"}, "batch"),
        ({"service_tier": None}, None),
        ({}, None),
        (None, None),
    ],
)
def test_how_a_message_was_served_is_a_word_or_nothing(usage: Any, tier: str | None) -> None:
    assert ROW.decoded(message(usage=usage)).service_tier == tier
