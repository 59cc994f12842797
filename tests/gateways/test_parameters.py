"""A caller's parameters are checked against those that the vendor supports."""

from collections.abc import Iterator
from typing import Any

import pytest

from app.gateways.parameters import NEUTRAL, check_extra, check_prompt, check_range, supported
from app.vendors.vendor import Vendor
from app.vocabulary.chat.parameters import CHAT_PARAMETERS
from app.vocabulary.chat.request import ChatRequest
from app.vocabulary.completion import PARAMETERS, CompletionRequest
from app.vocabulary.errors import InvalidRequest, UnsupportedParameter
from app.vocabulary.request import GenerationRequest


def refusing(*names: str, **keys: Any) -> Vendor:
    """Return a vendor that does not support these parameters."""
    return Vendor(
        name="sim", gateway="openai", base_url="http://v", unsupported=frozenset(names), **keys
    )


def asking(**parameters: Any) -> CompletionRequest:
    """Return a request that sets these parameters."""
    return CompletionRequest(model="sim/m", prompt="hi", **parameters)


#: A value that changes something, for each parameter.
TELLING: dict[str, Any] = {
    "best_of": 2,
    "echo": True,
    "frequency_penalty": 0.1,
    "logit_bias": {"1": 1},
    "logprobs": 0,
    "max_tokens": 0,
    "n": 2,
    "presence_penalty": -0.1,
    "seed": 0,
    "stop": "x",
    "suffix": " ",
    "temperature": 0,
    "top_p": 0,
}


def test_the_table_here_names_every_parameter() -> None:
    assert {*TELLING, "user"} == set(PARAMETERS)


@pytest.mark.parametrize("name", TELLING)
def test_a_refused_parameter_is_named(name: str) -> None:
    for vendor, wire in ((refusing(name), frozenset[str]()), (refusing(), frozenset({name}))):
        with pytest.raises(UnsupportedParameter) as caught:
            supported(vendor, asking(**{name: TELLING[name]}), wire)
        assert (caught.value.param, caught.value.code) == (name, "unsupported_parameter")
        assert name in str(caught.value)
        assert "`sim`" in str(caught.value)


@pytest.mark.parametrize("name", TELLING)
def test_a_refused_parameter_can_be_dropped_and_is_told(name: str) -> None:
    vendor = refusing(name, drop_unsupported=True)
    sent, dropped = supported(vendor, asking(**{name: TELLING[name], "seed": 5}))
    assert dropped == (name,)
    assert sent == ({} if name == "seed" else {"seed": 5})


@pytest.mark.parametrize(
    ("name", "value"), [(n, v) for n, values in NEUTRAL.items() for v in values]
)
def test_a_value_that_changes_nothing_is_left_out_without_a_word(name: str, value: Any) -> None:
    for request in _asking_for(name, value):
        assert supported(refusing(name), request) == ({}, ())
        # and sent where the vendor takes it
        assert supported(refusing(), request) == ({name: value}, ())


def _asking_for(name: str, value: Any) -> Iterator[GenerationRequest]:
    """Yield a request of each endpoint that has this parameter."""
    if name in PARAMETERS and (name, value) != ("logprobs", False):
        yield asking(**{name: value})
    if name in CHAT_PARAMETERS:
        yield ChatRequest(model="sim/m", messages=(), options={name: value})


@pytest.mark.parametrize("name", ["frequency_penalty", "presence_penalty", "temperature", "top_p"])
def test_a_neutral_number_may_be_written_as_a_fraction(name: str) -> None:
    neutral = float(NEUTRAL[name][0])
    assert supported(refusing(name), asking(**{name: neutral})) == ({}, ())


def test_a_user_is_left_out_where_the_vendor_has_no_word_for_it_since_our_event_keeps_it() -> None:
    assert supported(refusing("user"), asking(user="someone")) == ({}, ())


def test_the_best_n_of_n_are_all_of_them() -> None:
    assert supported(refusing("best_of"), asking(best_of=3, n=3)) == ({"n": 3}, ())
    with pytest.raises(UnsupportedParameter):
        supported(refusing("best_of"), asking(best_of=3, n=2))


def test_what_the_caller_did_not_set_is_refused_to_nobody() -> None:
    assert supported(refusing(*PARAMETERS), asking()) == ({}, ())


def test_of_several_the_first_by_name_is_refused_and_all_are_dropped_in_order() -> None:
    request = asking(**TELLING)
    with pytest.raises(UnsupportedParameter) as caught:
        supported(refusing("suffix", "stop", "logprobs"), request)
    assert caught.value.param == "logprobs"
    lax = refusing("suffix", "stop", "logprobs", drop_unsupported=True)
    assert supported(lax, request)[1] == ("logprobs", "stop", "suffix")


@pytest.mark.parametrize("prompt", [(1, 2), ((1, 2), (3,))])
def test_token_ids_go_only_where_they_are_taken(prompt: Any) -> None:
    request = CompletionRequest(model="sim/m", prompt=prompt)
    check_prompt(refusing(token_prompts=True), request)
    with pytest.raises(UnsupportedParameter) as caught:
        check_prompt(refusing(), request)
    assert caught.value.param == "prompt"


@pytest.mark.parametrize("prompt", ["", "hi", ("",), ("a", "b")])
def test_text_goes_everywhere(prompt: Any) -> None:
    check_prompt(refusing(), CompletionRequest(model="sim/m", prompt=prompt))


def test_fields_beyond_the_contract_are_refused_by_name_where_the_wire_is_another() -> None:
    check_extra(refusing(), asking())
    with pytest.raises(UnsupportedParameter) as caught:
        check_extra(refusing(), asking(extra={"top_k": 5}))
    assert caught.value.param == "top_k"
    with pytest.raises(UnsupportedParameter) as caught:
        check_extra(refusing(), asking(extra={"x" * 5_000: 5}))
    assert len(str(caught.value)) < 200


def test_a_range_narrower_than_the_contracts_is_told_and_no_value_bent() -> None:
    for temperature in (None, 0, 0.5, 1):
        check_range(refusing(), asking(temperature=temperature), "temperature", 0, 1)
    for temperature in (-0.1, 1.1, 2):
        with pytest.raises(InvalidRequest, match="from 0 to 1") as caught:
            check_range(refusing(), asking(temperature=temperature), "temperature", 0, 1)
        assert caught.value.param == "temperature"
    with pytest.raises(InvalidRequest, match="at least 1"):
        check_range(refusing(), asking(max_tokens=0), "max_tokens", 1)


def test_more_stops_than_the_vendor_takes_are_refused_by_name_and_never_fewer_sent() -> None:
    four, five = ("a", "b", "c", "d"), ("a", "b", "c", "d", "e")
    assert supported(refusing(), asking(stop=four))[0]["stop"] == four
    for vendor in (refusing(), refusing(drop_unsupported=True)):
        with pytest.raises(UnsupportedParameter, match="at most 4") as caught:
            supported(vendor, asking(stop=five))
        assert caught.value.param == "stop"
    assert supported(refusing(max_stops=16), asking(stop=five))[0]["stop"] == five
    lax = refusing("stop", drop_unsupported=True)
    assert supported(lax, asking(stop=five))[1] == ("stop",)
