"""A chat request: its fields, what they mean together, and what belongs elsewhere."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.api.schemas.chat.request import EFFORTS, ELSEWHERE, load_chat_request
from app.api.schemas.completion import load_completion_request
from app.vocabulary.chat.parameters import CHAT_PARAMETERS
from app.vocabulary.errors import InvalidRequest, UnsupportedParameter
from tests.api.schemas.chat.loading import LEAST, USER, load, problem

MISSING, TYPE, VALUE = "missing_required_parameter", "invalid_type", "invalid_value"

#: A valid value of every option, as it must arrive.
GOOD: dict[str, Any] = {
    "audio": {"format": "mp3", "voice": "alloy"},
    "frequency_penalty": -2,
    "logit_bias": {"5": -100},
    "logprobs": True,
    "max_tokens": 1,
    "metadata": {"a": "b"},
    "modalities": ["text", "audio"],
    "moderation": {"model": "m"},
    "n": 128,
    "prediction": {"type": "content", "content": "x"},
    "presence_penalty": 2,
    "prompt_cache_key": "k",
    "prompt_cache_options": {"mode": "explicit", "ttl": "30m"},
    "prompt_cache_retention": "24h",
    "reasoning_effort": "minimal",
    "response_format": {"type": "json_object"},
    "safety_identifier": "s",
    "seed": -(2**63),
    "service_tier": "on_demand",
    "stop": "END",
    "store": False,
    "temperature": 2,
    "top_logprobs": 20,
    "top_p": 0.5,
    "user": "u",
    "verbosity": "low",
    "web_search_options": {},
}


def test_every_option_is_kept_as_it_was_written() -> None:
    request = load(**GOOD)
    assert dict(request.options) == GOOD
    assert set(GOOD) | {"tools", "tool_choice", "parallel_tool_calls", "functions"} | {
        "function_call"
    } == set(CHAT_PARAMETERS)
    assert (request.n, request.seed, request.user, request.stop) == (128, -(2**63), "u", "END")
    assert request.max_tokens == 1
    assert request.extra == {}
    assert request.service_tier == "on_demand"


@pytest.mark.parametrize("name", GOOD)
def test_null_means_absent(name: str) -> None:
    request = load(**{name: None})
    assert dict(request.options) == {}
    assert request.extra == {}


def test_a_stream_and_its_options_are_no_parameters() -> None:
    request = load(stream=True, stream_options={"include_usage": True, "include_obfuscation": None})
    assert request.stream
    assert request.include_usage
    assert dict(request.options) == {}
    assert not load(stream=None, stream_options=None).stream
    assert not load(stream=False).stream


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"model": None}, ("model", MISSING)),
        ({"model": "gpt-4o"}, ("model", VALUE)),
        ({"messages": None}, ("messages", MISSING)),
        ({"frequency_penalty": 2.1}, ("frequency_penalty", VALUE)),
        ({"presence_penalty": "1"}, ("presence_penalty", TYPE)),
        ({"logit_bias": {"5": 101}}, ("logit_bias.5", VALUE)),
        ({"logprobs": 1}, ("logprobs", TYPE)),
        ({"logprobs": True, "top_logprobs": 21}, ("top_logprobs", VALUE)),
        ({"top_logprobs": 2}, ("top_logprobs", VALUE)),
        ({"top_logprobs": 0, "logprobs": False}, ("top_logprobs", VALUE)),
        ({"max_tokens": 0}, ("max_tokens", VALUE)),
        ({"max_tokens": 1.0}, ("max_tokens", TYPE)),
        ({"max_completion_tokens": True}, ("max_completion_tokens", TYPE)),
        ({"n": 0}, ("n", VALUE)),
        ({"n": 129}, ("n", VALUE)),
        ({"parallel_tool_calls": "no"}, ("parallel_tool_calls", TYPE)),
        ({"seed": 2**63}, ("seed", VALUE)),
        ({"stop": ""}, ("stop", VALUE)),
        ({"stop": ["a", ""]}, ("stop[1]", VALUE)),
        ({"stop": [1]}, ("stop[0]", TYPE)),
        ({"store": "yes"}, ("store", TYPE)),
        ({"stream": "true"}, ("stream", TYPE)),
        ({"stream_options": {}}, ("stream_options", VALUE)),
        (
            {"stream": True, "stream_options": {"include_usage": 1}},
            ("stream_options.include_usage", TYPE),
        ),
        ({"temperature": 2.5}, ("temperature", VALUE)),
        ({"top_p": -0.1}, ("top_p", VALUE)),
        ({"user": 7}, ("user", TYPE)),
        ({"reasoning_effort": "huge"}, ("reasoning_effort", VALUE)),
        ({"verbosity": "loud"}, ("verbosity", VALUE)),
        ({"safety_identifier": "s" * 129}, ("safety_identifier", VALUE)),
    ],
)
def test_what_is_wrong_is_named(fields: dict[str, Any], wrong: tuple[str, str]) -> None:
    assert problem(**fields) == wrong


@pytest.mark.parametrize("effort", EFFORTS)
def test_every_word_of_effort_is_taken(effort: str) -> None:
    assert load(reasoning_effort=effort).options["reasoning_effort"] == effort


@pytest.mark.parametrize(
    "limits",
    [
        {"max_tokens": 50},
        {"max_completion_tokens": 50},
        {"max_tokens": 50, "max_completion_tokens": 50},
        {"max_tokens": None, "max_completion_tokens": 50},
    ],
)
def test_both_names_of_the_limit_are_one(limits: dict[str, Any]) -> None:
    request = load(**limits)
    assert request.max_tokens == 50
    assert dict(request.options) == {"max_tokens": 50}


def test_two_different_limits_are_refused() -> None:
    wrong = problem(max_tokens=60, max_completion_tokens=50)
    assert wrong == ("max_completion_tokens", VALUE)


def test_unknown_fields_are_kept_for_vendors_that_know_them() -> None:
    request = load(top_k=5, chat_template_kwargs={"thinking": False}, nothing=None)
    assert request.extra == {"top_k": 5, "chat_template_kwargs": {"thinking": False}}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_what_belongs_to_another_endpoint_is_sent_there(name: str) -> None:
    with pytest.raises(UnsupportedParameter) as caught:
        load_chat_request({"model": "openai/m", name: "a secret"})
    assert caught.value.param == name
    assert ELSEWHERE[name] in str(caught.value)
    assert "secret" not in str(caught.value)


def test_the_doors_point_to_each_other() -> None:
    with pytest.raises(UnsupportedParameter, match="/v5/completions"):
        load_chat_request({"model": "openai/m", "prompt": "x"})
    with pytest.raises(UnsupportedParameter, match="/v5/chat/completions"):
        load_completion_request({"model": "openai/m", "messages": [USER]})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from([*CHAT_PARAMETERS, "messages", "stream", "stream_options", "top_k"])
PART_KEYS = st.sampled_from(
    ["role", "content", "type", "text", "image_url", "url", "file", "tool_calls", "id", "function"]
)
NESTED = st.recursive(
    JSON | st.sampled_from(["user", "assistant", "tool", "text", "function", "image_url"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(PART_KEYS, inner, max_size=4),
    max_leaves=8,
)


@given(st.dictionaries(KEYS, JSON | NESTED, max_size=4))
def test_no_value_is_a_fault_of_ours(fields: dict[str, Any]) -> None:
    """It is taken, or refused with the name of one of the fields."""
    refused = ""
    try:
        request = load_chat_request({**LEAST, **fields})
    except InvalidRequest as error:
        refused = error.param or "nothing"
    else:
        assert request.messages
        assert None not in request.options.values()
    assert refused.partition(".")[0].partition("[")[0] in {"", *fields, *LEAST}


def test_all_faults_of_a_request_are_told_at_once() -> None:
    """Those of its fields first, then those inside of them, in their order."""
    parts = [{"type": "text", "text": 1}, {"type": "image_url"}, {"type": "text", "text": "a"}]
    with pytest.raises(InvalidRequest) as caught:
        load(
            temperature="hot",
            messages=[{"role": "user", "content": parts}, {"role": "boss"}, USER, {"role": "tool"}],
            tools=[{"type": "function", "function": {"name": "a b"}}],
            response_format={"type": "json_schema"},
        )
    assert caught.value.param == "temperature"
    assert [it["param"] for it in caught.value.details] == [
        "temperature",
        "tools[0].function.name",
        "messages[0].content[0].text",
        "messages[0].content[1].image_url",
        "messages[1].role",
        "messages[3].tool_call_id",
        "response_format.json_schema",
    ]
    assert "`messages[1].role` must be one of" in str(caught.value)


def test_no_more_faults_are_looked_for_than_are_listed() -> None:
    with pytest.raises(InvalidRequest) as caught:
        load(messages=[{"role": "boss"}] * 1000)
    assert len(caught.value.details) == 20
