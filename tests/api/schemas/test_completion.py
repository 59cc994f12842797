"""A caller's JSON to a CompletionRequest."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.api.schemas.completion import (
    CHAT_ONLY,
    CompletionRequestSchema,
    load_completion_request,
)
from app.formats import strict_json
from app.vocabulary.completion import PARAMETERS, CompletionRequest
from app.vocabulary.errors import InvalidRequest, UnsupportedParameter
from app.vocabulary.text import TEXT_LIMIT
from tests.api.schemas.loading import LEAST, problem
from tests.support import openai_facts

INTEGERS = {
    "best_of": (1, 20),
    "logprobs": (0, 5),
    "max_tokens": (0, 2**31 - 1),
    "n": (1, 128),
    "seed": (-(2**63), 2**63 - 1),
}


NUMBERS = {
    "frequency_penalty": (-2, 2),
    "presence_penalty": (-2, 2),
    "temperature": (0, 2),
    "top_p": (0, 1),
}


BOOLEANS = ("echo", "stream")


STRINGS = ("suffix", "user")


#: Something of each JSON type.
OF_TYPE: dict[str, tuple[Any, ...]] = {
    "boolean": (True, False),
    "string": ("", "5", "0.5", "true", "x"),
    "float": (5.5, 5.0, 1.0, 0.0, -0.0),
    "integer": (1,),
    "array": ([], [1], ["x"]),
    "object": ({}, {"a": 1}),
}


TAKEN: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(INTEGERS, ("integer",)),
    **dict.fromkeys(NUMBERS, ("integer", "float")),
    **dict.fromkeys(BOOLEANS, ("boolean",)),
    **dict.fromkeys(STRINGS, ("string",)),
    "model": ("string",),
    "prompt": ("string", "array"),
    "stop": ("string", "array"),
    "logit_bias": ("object",),
    "stream_options": ("object",),
}


WRONG_TYPES = [
    (field, value)
    for field, taken in TAKEN.items()
    for kind, values in OF_TYPE.items()
    if kind not in taken
    for value in values
]


def test_the_tables_here_name_every_field() -> None:
    assert set(TAKEN) == set(CompletionRequestSchema().fields)


@pytest.mark.parametrize(("field", "value"), WRONG_TYPES)
def test_a_value_of_a_wrong_type_is_refused_and_never_converted(field: str, value: Any) -> None:
    assert problem(**{field: value}) == (field, "invalid_type")


@pytest.mark.parametrize("field", sorted(set(TAKEN) - {"model", "prompt"}))
def test_null_is_the_same_as_absent(field: str) -> None:
    absent = load_completion_request(LEAST)
    assert load_completion_request({**LEAST, field: None}) == absent
    assert load_completion_request({**LEAST, **dict.fromkeys(TAKEN, None), **LEAST}) == absent


@pytest.mark.parametrize("field", ["model", "prompt"])
def test_model_and_prompt_are_required(field: str) -> None:
    assert problem(**{field: None}) == (field, "missing_required_parameter")
    with pytest.raises(InvalidRequest) as caught:
        load_completion_request({name: value for name, value in LEAST.items() if name != field})
    assert (caught.value.param, caught.value.code) == (field, "missing_required_parameter")


def test_the_first_wrong_field_is_named() -> None:
    assert problem(model=None, prompt=None) == ("model", "missing_required_parameter")
    assert problem(top_p=2, n=0) == ("n", "invalid_value")


@pytest.mark.parametrize(("field", "bounds"), [*INTEGERS.items(), *NUMBERS.items()])
def test_bounds_belong_to_the_range_and_what_is_beyond_does_not(
    field: str, bounds: tuple[int, int]
) -> None:
    low, high = bounds
    for value in (low, high):
        assert getattr(load_completion_request({**LEAST, field: value}), field) == value
    for value in (low - 1, high + 1):
        assert problem(**{field: value}) == (field, "invalid_value")


@pytest.mark.parametrize(("field", "bounds"), NUMBERS.items())
def test_a_number_may_be_whole_or_a_fraction_but_none_beyond_the_range(
    field: str, bounds: tuple[int, int]
) -> None:
    low, high = bounds
    for value in (float(low), float(high), (low + high) / 2 + 0.25, high):
        loaded = getattr(load_completion_request({**LEAST, field: value}), field)
        assert loaded == value
        assert type(loaded) is type(value)
    for value in (math.nextafter(low, -9), math.nextafter(high, 9), math.inf, -math.inf):
        assert problem(**{field: value}) == (field, "invalid_value")


def test_zero_is_a_value_like_any_other() -> None:
    zeros = {"max_tokens": 0, "temperature": 0, "seed": 0, "logprobs": 0, "top_p": 0}
    request = load_completion_request({**LEAST, **zeros, "echo": False})
    assert request.parameters() == {**zeros, "echo": False}


MODELS = {
    "openai/gpt-4o": ("openai", "gpt-4o"),
    "launch/a/b/c": ("launch", "a/b/c"),
    "fireworks_ai/accounts/acme/routers/fast-1": ("fireworks_ai", "accounts/acme/routers/fast-1"),
    "vllm/accounts/A/models/Llama-3.1-8B": ("vllm", "accounts/A/models/Llama-3.1-8B"),
    "bedrock/anthropic.claude-x-v1:0": ("bedrock", "anthropic.claude-x-v1:0"),
    "openai/ft:m:org::abc": ("openai", "ft:m:org::abc"),
    "openai/m:free": ("openai", "m:free"),
    "vllm/Org/Name:Tag": ("vllm", "Org/Name:Tag"),
    "openai/a//b": ("openai", "a//b"),
    "vllm//models/x": None,
    "gpt-4o": None,
    "/gpt": None,
    "openai/": None,
    "openai//x": None,
    " openai/x": None,
    "openai/x ": None,
    "openai/x\n": None,
    "\u2003openai/x": None,
    "/": None,
    "": None,
}  # fmt: skip


@pytest.mark.parametrize(("model", "parts"), MODELS.items())
def test_a_model_is_a_vendor_and_whatever_follows_the_first_slash(
    model: str, parts: tuple[str, str] | None
) -> None:
    if parts is None:
        assert problem(model=model) == ("model", "invalid_value")
    else:
        request = load_completion_request({**LEAST, "model": model})
        assert (request.vendor, request.model_name) == parts


def test_a_model_is_no_longer_than_what_the_ledger_keeps_whole() -> None:
    longest = "openai/".ljust(TEXT_LIMIT, "m")
    assert load_completion_request({**LEAST, "model": longest}).model == longest
    assert problem(model=longest + "m") == ("model", "invalid_value")


@pytest.mark.parametrize(
    "fields", [{"best_of": 2, "n": 2}, {"best_of": 3}, {"best_of": 1, "stream": True}]
)
def test_best_of_at_least_n_is_taken(fields: dict[str, Any]) -> None:
    assert load_completion_request({**LEAST, **fields}).best_of == fields["best_of"]


@pytest.mark.parametrize(
    "fields", [{"best_of": 1, "n": 2}, {"best_of": 2, "stream": True}, {"best_of": 0}]
)
def test_best_of_below_n_or_above_one_in_a_stream_is_refused(fields: dict[str, Any]) -> None:
    assert problem(**fields) == ("best_of", "invalid_value")


def test_fields_beyond_the_contract_are_kept_as_they_are() -> None:
    more = {"top_k": 5, "a.b": {"c": [1, None]}, "model.x": "y", "": False, "é" * 9999: 0}
    request = load_completion_request({**LEAST, **more, "nothing": None})
    assert request.extra == more


@pytest.mark.parametrize("name", CHAT_ONLY)
def test_a_name_of_the_chat_api_is_refused_with_a_hint_before_anything_else(name: str) -> None:
    for rest in (LEAST, {"model": "openai/m"}, {}):
        with pytest.raises(UnsupportedParameter) as caught:
            load_completion_request({**rest, name: [{"role": "user", "content": "a secret"}]})
        assert (caught.value.param, caught.value.code) == (name, "unsupported_parameter")
        assert CHAT_ONLY[name] in str(caught.value)
        assert "secret" not in str(caught.value)
    assert load_completion_request({**LEAST, name: None}).extra == {}


def test_max_completion_tokens_is_never_ignored_without_a_word() -> None:
    with pytest.raises(UnsupportedParameter, match="did you mean `max_tokens`"):
        load_completion_request({**LEAST, "max_completion_tokens": 50})


TEXT = st.text(max_size=20)


VALID: dict[str, st.SearchStrategy[Any]] = {
    "model": st.from_regex(r"(openai|vllm)/[^\s/][^\s]*", fullmatch=True),
    "prompt": TEXT
    | st.lists(TEXT, min_size=1)
    | st.lists(st.integers(0, 2**32), min_size=1)
    | st.lists(st.lists(st.integers(0, 2**32), min_size=1), min_size=1),
    **{name: st.integers(*bounds) for name, bounds in INTEGERS.items() if name != "best_of"},
    **{name: st.floats(*bounds) | st.integers(*bounds) for name, bounds in NUMBERS.items()},
    "echo": st.booleans(),
    "suffix": TEXT,
    "user": TEXT,
    "logit_bias": st.dictionaries(TEXT, st.floats(-100, 100) | st.integers(-100, 100)),
    "stop": st.text(min_size=1) | st.lists(st.text(min_size=1), min_size=1, max_size=4),
    "top_k": st.integers(),
}  # fmt: skip


REQUESTS = st.fixed_dictionaries(
    {name: VALID[name] for name in LEAST},
    optional={name: strategy for name, strategy in VALID.items() if name not in LEAST},
)


@given(REQUESTS)
def test_every_field_of_a_valid_request_is_what_the_caller_set(body: dict[str, Any]) -> None:
    request = load_completion_request(body)
    set_ = {name: getattr(request, name) for name in TAKEN} | {"top_k": request.extra.get("top_k")}
    asked = dict.fromkeys([*TAKEN, "top_k"], None) | {"stream": False} | body
    assert json.loads(json.dumps(set_)) == asked
    assert set(request.parameters()) == set(body) & set(PARAMETERS)


ANY_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner),
    max_leaves=8,
)


ANY_BODY = st.dictionaries(
    st.sampled_from([*TAKEN, *CHAT_ONLY]) | st.text(st.characters()), ANY_JSON
) | st.fixed_dictionaries(
    {"model": st.just("openai/m"), "prompt": st.just("a secret prompt")},
    optional={name: ANY_JSON for name in TAKEN if name not in LEAST},
)


@given(ANY_BODY)
def test_any_object_is_a_request_or_an_invalid_request(body: dict[str, Any]) -> None:
    try:
        request = load_completion_request(body)
    except InvalidRequest as error:
        dumped = strict_json.dump(error.body())
    else:
        dumped = b""
        assert isinstance(request, CompletionRequest)
    assert len(dumped) < 10_000
    assert b"secret" not in dumped


LONG = "secret" * 100_000


LEAKS: list[dict[str, Any]] = [
    {"prompt": [LONG, 1]},
    {"prompt": {LONG: LONG}},
    {"prompt": [[LONG]]},
    {"model": LONG},
    {"stop": [LONG, 1]},
    {"stop": {LONG: 1}},
    {"n": LONG},
    {"user": [LONG]},
    {"stream": LONG},
    {"logit_bias": {"1": LONG}},
    {"stream": True, "stream_options": {"include_usage": LONG}},
    {"messages": LONG},
]


@pytest.mark.parametrize("fields", LEAKS, ids=str)
def test_an_error_never_quotes_what_the_caller_sent(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest) as caught:
        load_completion_request({**LEAST, **fields})
    body = strict_json.dump(caught.value.body())
    assert len(body) < 1000
    assert b"secret" not in body


#: Where we differ from OpenAI's numbers, and why.
DIFFERENCES: dict[tuple[str, str], Any] = {
    ("best_of", "minimum"): 1,  # it must be at least `n`, and that is at least 1
}


def test_fields_and_bounds_are_those_of_openais_specification() -> None:
    request = openai_facts.SCHEMAS["CreateCompletionRequest"]
    properties = request["properties"]
    assert set(TAKEN) == set(properties)
    for name, bounds in {**INTEGERS, **NUMBERS}.items():
        for key, ours in zip(("minimum", "maximum"), bounds, strict=True):
            theirs = DIFFERENCES.get((name, key), properties[name].get(key))
            assert theirs in (ours, None), (name, key)
    required = {name for name, field in CompletionRequestSchema().fields.items() if field.required}
    assert required == set(request["required"])


@pytest.mark.parametrize("prompt", ["x" * 300_000, ["x" * 150_000] * 2, [7] * 300_000])
def test_an_answer_repeats_no_more_of_its_prompts_than_anybody_can_want(prompt: Any) -> None:
    assert problem(prompt=prompt, echo=True, n=128) == ("echo", "invalid_value")
    load_completion_request({**LEAST, "prompt": prompt, "n": 128})
    load_completion_request({**LEAST, "prompt": prompt, "echo": True})
