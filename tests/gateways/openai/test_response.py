"""Objects of OpenAI's two formats: one decoder reads both, and what vendors make of them."""

from typing import Any

import pytest
from hypothesis import given

from app.gateways.decoding.choices.slots import UNNUMBERED
from app.gateways.decoding.error_bodies import error_in
from app.gateways.openai.response import OpenAIDecoder, index_of, text_of
from app.vocabulary.completion import Choice, CompletionRequest, HalfUsage, Usage
from app.vocabulary.errors import GatewayError, VendorFailed, VendorRateLimited
from tests.gateways.openai.wire import STREAMED, VENDOR
from tests.gateways.rows import json_values
from tests.support.vendor import body_of, choice, usage_of


@pytest.fixture
def decoder() -> OpenAIDecoder:
    return OpenAIDecoder(VENDOR, STREAMED)


def delta(index: int = 0, finish: Any = None, **fields: Any) -> dict[str, Any]:
    return {"index": index, "delta": fields, "finish_reason": finish}


def one(decoder: OpenAIDecoder, choice_: Any, **beside: Any) -> Choice:
    """Return a chunk's only choice."""
    chunk = decoder.read(body_of(choice_, **beside))
    assert chunk is not None
    (found,) = chunk.choices
    return found


@pytest.mark.parametrize(
    ("sent", "index"),
    [
        (3, 3),
        (-1, -1),
        (3.0, 3),
        ("3", 3),
        (3.5, UNNUMBERED),
        (True, UNNUMBERED),
        ("x", UNNUMBERED),
        ("\u0663", UNNUMBERED),
        ("9" * 10, UNNUMBERED),
        (None, UNNUMBERED),
        ([], UNNUMBERED),
    ],
)
def test_an_index_may_be_a_float_or_a_text(sent: Any, index: int) -> None:
    assert index_of({"index": sent}) == index
    assert index_of({}) == UNNUMBERED


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("a", "a"),
        (None, ""),
        ([], ""),
        (
            [{"type": "text", "text": "a"}, {"type": "thinking"}, {"type": "text", "text": "b"}],
            "ab",
        ),
        ([{"type": "text", "text": 5}, {"type": "text"}, 7], ""),
        (5, None),
        ({}, None),
    ],
)
def test_a_messages_content_is_a_text_or_parts(content: Any, text: str | None) -> None:
    assert text_of(content) == text


@pytest.mark.parametrize(
    "sent",
    [
        choice("a", "stop"),
        delta(finish="stop", content="a"),
        {"index": 0, "message": {"content": "a"}, "finish_reason": "stop"},
        {"index": 0, "message": "a", "finish_reason": "stop"},
    ],
)
def test_either_formats_text_is_read(decoder: OpenAIDecoder, sent: Any) -> None:
    assert one(decoder, sent) == Choice(0, "a", "stop")


@pytest.mark.parametrize("sent", [choice(5), delta(content=5), {"index": 0, "message": [1]}])  # type: ignore[arg-type]
def test_a_malformed_choice_fails_alone(decoder: OpenAIDecoder, sent: Any) -> None:
    chunk = decoder.read(body_of(sent, choice("b", index=1)))
    assert chunk is not None
    assert chunk.choices == (Choice(0, "", "error"), Choice(1, "b"))


def test_after_deltas_a_message_that_repeats_them_is_not_text(decoder: OpenAIDecoder) -> None:
    assert one(decoder, delta(content="a")).text == "a"
    assert one(decoder, {"index": 0, "message": {"content": "a"}}).text == ""
    assert one(decoder, {"index": 1, "message": {"content": "b"}}).text == "b"


def test_a_refusal_makes_a_later_stop_a_filters(decoder: OpenAIDecoder) -> None:
    assert one(decoder, delta(refusal="No.")).finish_reason is None
    assert one(decoder, delta(finish="stop")).finish_reason == "content_filter"
    assert one(decoder, delta(1, "stop")).finish_reason == "stop"


@pytest.mark.parametrize(
    ("fields", "is_alive"),
    [
        ({"reasoning_content": "Hm."}, True),
        ({"tool_calls": [{}]}, True),
        ({"role": "assistant"}, False),
        ({"content": "", "reasoning": None}, False),
    ],
)
def test_reasoning_shows_that_the_model_is_at_work(
    decoder: OpenAIDecoder, fields: dict[str, Any], is_alive: bool
) -> None:
    assert one(decoder, delta(**fields)).text == ""
    assert decoder.is_alive is is_alive
    assert decoder.read(body_of()) is None
    assert not decoder.is_alive


def test_fields_beside_a_choice_are_its_own_unless_it_has_them(decoder: OpenAIDecoder) -> None:
    bare = {"index": 0, "text": "a"}
    assert one(decoder, bare, finish_reason="length").finish_reason == "length"
    assert one(decoder, {**bare, "finish_reason": None}, finish_reason="length").finish_reason
    found = one(decoder, {**bare, "finish_reason": "stop"}, finish_reason="length")
    assert found.finish_reason == "stop"


def test_fields_that_the_contract_does_not_name_are_kept(decoder: OpenAIDecoder) -> None:
    found = one(decoder, choice("a", seed=7, content_filter_results={}, stop_reason=None))
    assert found.extra == {"seed": 7, "content_filter_results": {}}
    assert one(decoder, choice("a", stop_reason=None)).extra is None


def test_a_usage_of_each_choice_is_summed_where_the_object_has_none() -> None:
    decoder = OpenAIDecoder(VENDOR, CompletionRequest(model="sim/m", prompt="p", n=2))
    each = [choice("a", "stop", at, usage=usage_of(3, 5 + at)) for at in (0, 1)]
    assert decoder.usage(body_of(*each)) == Usage(
        prompt_tokens=3, completion_tokens=11, total_tokens=14
    )
    assert decoder.usage(body_of(each[0])) == Usage(
        prompt_tokens=3, completion_tokens=5, total_tokens=8
    )
    whole = decoder.usage(body_of(*each, usage=usage_of(3, 9)))
    assert whole == Usage(prompt_tokens=3, completion_tokens=9, total_tokens=12)
    half = decoder.usage(body_of(choice("a"), usage={"prompt_tokens": 3}))
    assert half == HalfUsage(prompt_tokens=3, total_tokens=3, lacks="completion")


def test_an_error_object_is_raised_also_beside_choices(decoder: OpenAIDecoder) -> None:
    error = {"message": "Slow down.", "code": 429}
    for read in (decoder.read, decoder.read_whole):
        with pytest.raises(VendorRateLimited, match="Slow down"):
            read(body_of(choice("a"), error=error))


@pytest.mark.parametrize("payload", [None, 5, "a", [], {"choices": {"0": {}}}, {"choices": [None]}])
def test_what_is_no_object_with_choices_is_malformed(decoder: OpenAIDecoder, payload: Any) -> None:
    with pytest.raises(VendorFailed, match="malformed completion object"):
        decoder.read(payload)
    assert decoder.usage(payload) is None


def test_a_whole_choice_without_a_text_has_failed_and_a_streamed_one_is_empty(
    decoder: OpenAIDecoder,
) -> None:
    bare = {"index": 0, "finish_reason": "stop"}
    assert decoder.read_whole(body_of(bare)).choices == (Choice(0, "", "error"),)
    assert one(decoder, bare) == Choice(0, "", "stop")


@given(json_values("choices", "usage", "delta", "message", "text", "index", "token", "x_groq"))
def test_whatever_a_payload_holds_it_is_a_chunk_or_an_error(payload: Any) -> None:
    decoder = OpenAIDecoder(VENDOR, STREAMED)
    decoder.usage(payload)
    for read in (decoder.read, decoder.read_whole):
        try:
            read(payload)
        except GatewayError as error:
            said_by_the_vendor = error_in(payload) is not None
            assert error.billable or said_by_the_vendor  # noqa: PT017
