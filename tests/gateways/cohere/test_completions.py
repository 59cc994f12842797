import json
from typing import Any

import pytest
from hypothesis import given

from app.transport.auth.schemes import authenticated
from app.vocabulary.errors import (
    GatewayError,
    InvalidRequest,
    UnsupportedParameter,
    VendorFailed,
)
from tests.gateways.cohere.wire import ROW, WORDS, delta, end, message
from tests.gateways.rows import bodies, told

# What is sent.


def test_a_request_holds_what_the_caller_set_and_no_more() -> None:
    encoded = ROW.gateway.encode(ROW.vendor, ROW.asks("command-a-03-2025"))
    assert encoded.url == "https://api.cohere.com/v2/chat"
    assert authenticated(ROW.vendor, encoded) == {
        "content-type": "application/json",
        "authorization": "Bearer sk-test",
    }
    assert json.loads(encoded.body) == {
        "model": "command-a-03-2025",
        "messages": [{"role": "user", "content": "hi"}],
    }


def test_every_parameter_that_the_wire_has_is_sent_in_its_words() -> None:
    sent = ROW.sent(
        frequency_penalty=0.5,
        presence_penalty=0,
        max_tokens=0,
        seed=0,
        stop="\n",
        temperature=0,
        top_p=0.5,
        stream=True,
    )
    assert {name: sent[name] for name in sent.keys() - {"model", "messages"}} == {
        "frequency_penalty": 0.5,
        "max_tokens": 0,
        "seed": 0,
        "stop_sequences": ["\n"],
        "temperature": 0,
        "p": 0.5,
        "stream": True,
    }


def test_all_tokens_are_as_many_as_the_vendor_can_say() -> None:
    """Its default is fewer, and many clients send a `top_p` of 1 with each request."""
    assert ROW.sent(top_p=1)["p"] == 0.99


@pytest.mark.parametrize(
    ("parameter", "value", "bound"),
    [
        ("top_p", 0, "0.01 to 0.99"),
        ("frequency_penalty", -1, "0 to 1"),
        ("presence_penalty", 1.5, "0 to 1"),
    ],
)
def test_what_is_out_of_the_vendors_range_is_refused_with_the_range(
    parameter: str, value: Any, bound: str
) -> None:
    with pytest.raises(InvalidRequest, match=bound) as caught:
        ROW.sent(**{parameter: value})
    assert caught.value.param == parameter


@pytest.mark.parametrize("parameter", ["best_of", "logit_bias", "logprobs", "suffix"])
def test_what_the_wire_has_no_word_for_is_refused_by_name(parameter: str) -> None:
    values: dict[str, Any] = {"logit_bias": {"5": 1}, "suffix": "end"}
    with pytest.raises(UnsupportedParameter) as caught:
        ROW.sent(**{parameter: values.get(parameter, 2)})
    assert caught.value.param == parameter


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(UnsupportedParameter, match="safety_mode"):
        ROW.sent(extra={"safety_mode": "OFF"})


# Whole answers.


def test_an_answer_is_the_text_of_its_blocks_without_the_thinking() -> None:
    content = [
        {"type": "thinking", "thinking": "hmm"},
        {"type": "text", "text": "one"},
        {"type": "text", "text": " two"},
    ]
    completion = ROW.decoded(message(message={"content": content}))
    (choice,) = completion.choices
    assert (completion.id, completion.model) == ("c14c", "m")
    assert (choice.index, choice.text, choice.finish_reason) == (0, "one two", "stop")


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("COMPLETE", "stop"),
        ("STOP_SEQUENCE", "stop"),
        ("TOOL_CALL", "stop"),
        ("MAX_TOKENS", "length"),
    ],
)
def test_every_success_of_the_vendor_is_one_of_the_contracts(word: str, reason: str) -> None:
    assert ROW.decoded(message(finish_reason=word)).choices[0].finish_reason == reason
    assert told(ROW.chunks([delta(text="a"), end(finish_reason=word)]))[1] == [reason]


@pytest.mark.parametrize("content", [None, []])
def test_an_answer_without_a_word_is_an_empty_text(content: Any) -> None:
    assert ROW.decoded(message(message={"content": content})).choices[0].text == ""


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not json",
        [],
        None,
        {},
        {"id": "c14c", "message": "internal server error"},
        message(message=None),
        message(message={"content": ["one"]}),
        message(message={"content": [{"type": "text", "text": 5}]}),
        message(finish_reason="ERROR"),
        message(finish_reason="TIMEOUT"),
    ],
)
def test_an_answer_that_is_none_fails(body: Any) -> None:
    assert isinstance(ROW.refusal(body), VendorFailed)


def test_an_error_in_an_answer_keeps_its_words() -> None:
    assert "no luck" in ROW.refusal({"id": "c14c", "message": "no luck"}).message
    assert "no luck" in ROW.broken([end(finish_reason="ERROR", error="no luck")]).message


# Whatever a vendor may say.


@given(bodies(*WORDS))
def test_no_whole_answer_raises_anything_but_a_gateway_error(body: bytes) -> None:
    try:
        completion = ROW.decoded(body)
    except GatewayError:
        return
    assert completion.choices[0].finish_reason is not None
