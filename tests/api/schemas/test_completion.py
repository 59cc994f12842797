"""A caller's JSON to a CompletionRequest, and answers to JSON."""

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.api.schemas.completion import (
    CHAT_ONLY,
    CompletionRequestSchema,
    dump_chunk,
    dump_completion,
    dump_usage,
    load_completion_request,
)
from app.api.schemas.fields import PROMPTS_LIMIT
from app.formats import strict_json
from app.usage.event import TEXT_LIMIT
from app.vocabulary.completion import PARAMETERS, Choice, Completion, CompletionRequest, Usage
from app.vocabulary.errors import InvalidRequest, UnsupportedParameter

LEAST = {"model": "openai/m", "prompt": "a secret prompt"}

Wrong = tuple[str, str]


def problem(**fields: Any) -> Wrong:
    """Return the param and the code with which a request is refused; it must be refused."""
    with pytest.raises(InvalidRequest) as caught:
        load_completion_request({**LEAST, **fields})
    error = caught.value
    body = strict_json.dump(error.body())
    assert error.status == 400
    assert len(body) < 1000
    assert b"secret" not in body
    assert error.param is not None
    assert str(error).startswith(f"`{error.param}` ")
    return error.param, str(error.code)


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


PROMPTS: list[tuple[Any, Any]] = [
    ("", ""),
    ("hi", "hi"),
    ([""], ("",)),
    (["a", "b"], ("a", "b")),
    (["a"] * PROMPTS_LIMIT, ("a",) * PROMPTS_LIMIT),
    ([15496, 995], (15496, 995)),
    ([0], (0,)),
    ([1] * (PROMPTS_LIMIT + 1), (1,) * (PROMPTS_LIMIT + 1)),
    ([[15496, 995], [1]], ((15496, 995), (1,))),
]


@pytest.mark.parametrize(("prompt", "loaded"), PROMPTS, ids=lambda value: str(value)[:20])
def test_a_prompt_is_text_texts_token_ids_or_lists_of_them(prompt: Any, loaded: Any) -> None:
    request = load_completion_request({**LEAST, "prompt": prompt})
    assert request.prompt == loaded
    assert type(request.prompt) is type(loaded)


BAD_PROMPTS: list[tuple[Any, Wrong]] = [
    ([], ("prompt", "invalid_value")),
    ([[]], ("prompt[0]", "invalid_value")),
    ([[1], []], ("prompt[1]", "invalid_value")),
    (["ok", 7], ("prompt[1]", "invalid_type")),
    (["ok", None], ("prompt[1]", "invalid_type")),
    (["ok", ["a"]], ("prompt[1]", "invalid_type")),
    (["ok", True], ("prompt[1]", "invalid_type")),
    ([None], ("prompt[0]", "invalid_type")),
    ([True], ("prompt[0]", "invalid_type")),
    ([1.0], ("prompt[0]", "invalid_type")),
    ([{}], ("prompt[0]", "invalid_type")),
    ([1, "secret"], ("prompt[1]", "invalid_type")),
    ([1, 2.5], ("prompt[1]", "invalid_type")),
    ([1, False], ("prompt[1]", "invalid_type")),
    ([1, [2]], ("prompt[1]", "invalid_type")),
    ([1, -1], ("prompt[1]", "invalid_value")),
    ([["a"]], ("prompt[0][0]", "invalid_type")),
    ([[1], [2, None]], ("prompt[1][1]", "invalid_type")),
    ([[1], "secret"], ("prompt[1]", "invalid_type")),
    ([[1], [[2]]], ("prompt[1][0]", "invalid_type")),
    ({"a": 1}, ("prompt", "invalid_type")),
    (True, ("prompt", "invalid_type")),
    (7, ("prompt", "invalid_type")),
    (["a"] * (PROMPTS_LIMIT + 1), ("prompt", "invalid_value")),
    ([[1]] * (PROMPTS_LIMIT + 1), ("prompt", "invalid_value")),
]


@pytest.mark.parametrize(("prompt", "wrong"), BAD_PROMPTS, ids=lambda value: str(value)[:20])
def test_a_prompt_that_is_none_is_refused_at_the_place_that_is_wrong(
    prompt: Any, wrong: Wrong
) -> None:
    assert problem(prompt=prompt) == wrong


STOPS: list[tuple[Any, Any]] = [
    ("\n", "\n"),
    (["a"], ("a",)),
    (["a", "b", "c", "d", "e"], ("a", "b", "c", "d", "e")),
    (["a"] * 128, ("a",) * 128),
    ([], None),
]
BAD_STOPS: list[tuple[Any, Wrong]] = [
    ("", ("stop", "invalid_value")),
    (["a"] * 129, ("stop", "invalid_value")),
    (["a", ""], ("stop[1]", "invalid_value")),
    (["a", "b", 3], ("stop[2]", "invalid_type")),
    ([None], ("stop[0]", "invalid_type")),
    ([["a"]], ("stop[0]", "invalid_type")),
]


@pytest.mark.parametrize(("stop", "loaded"), STOPS)
def test_stop_is_one_sequence_or_several_and_an_empty_list_is_none(stop: Any, loaded: Any) -> None:
    assert load_completion_request({**LEAST, "stop": stop}).stop == loaded


@pytest.mark.parametrize(("stop", "wrong"), BAD_STOPS)
def test_a_stop_that_is_none_is_refused(stop: Any, wrong: Wrong) -> None:
    assert problem(stop=stop) == wrong


@pytest.mark.parametrize("bias", [{}, {"50256": -100}, {"1": 100, "2": 0, "3": -0.5}])
def test_logit_bias_is_numbers_by_token(bias: dict[str, float]) -> None:
    assert load_completion_request({**LEAST, "logit_bias": bias}).logit_bias == bias


@pytest.mark.parametrize(
    ("bias", "wrong"),
    [
        ({"1": 1, "50256": 101}, ("logit_bias.50256", "invalid_value")),
        ({"50256": -100.5}, ("logit_bias.50256", "invalid_value")),
        ({"50256": math.inf}, ("logit_bias.50256", "invalid_value")),
        ({"50256": "-100"}, ("logit_bias.50256", "invalid_type")),
        ({"50256": True}, ("logit_bias.50256", "invalid_type")),
        ({"50256": None}, ("logit_bias.50256", "invalid_type")),
        ({"50256": {}}, ("logit_bias.50256", "invalid_type")),
        ({"x" * 5000: {}}, ("logit_bias." + "x" * 64, "invalid_type")),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_bias_that_is_none_is_refused_by_its_token(bias: Any, wrong: Wrong) -> None:
    assert problem(logit_bias=bias) == wrong


def test_stream_options_are_a_free_map_of_which_three_must_be_booleans() -> None:
    options = {"include_usage": True, "continuous_usage_stats": True, "mine": {"a": [1]}}
    request = load_completion_request({**LEAST, "stream": True, "stream_options": options})
    assert request.stream_options == options
    assert request.include_usage
    values: tuple[Any, ...] = ("true", 1, [], {})
    for name in ("include_usage", "include_obfuscation", "continuous_usage_stats"):
        for value in values:
            wrong = problem(stream=True, stream_options={name: value})
            assert wrong == (f"stream_options.{name}", "invalid_type")
        nulled = load_completion_request({**LEAST, "stream": True, "stream_options": {name: None}})
        assert nulled.stream_options == {}
        assert not nulled.include_usage


@pytest.mark.parametrize("stream", [False, None])
@pytest.mark.parametrize("options", [{}, {"include_usage": True}, {"continuous_usage_stats": True}])
def test_stream_options_need_a_stream(stream: Any, options: Any) -> None:
    assert problem(stream=stream, stream_options=options) == ("stream_options", "invalid_value")


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
    assert len(dumped) < 1000
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


SPECIFICATION = (
    Path(__file__).parents[4] / "shared" / "openai" / "completions-and-usage.openapi.json"
)

#: Where we differ from OpenAI's numbers, and why.
DIFFERENCES: dict[tuple[str, str], Any] = {
    ("best_of", "minimum"): 1,  # it must be at least `n`, and that is at least 1
}


@pytest.mark.skipif(not SPECIFICATION.is_file(), reason="OpenAI's specification is not beside us")
def test_fields_and_bounds_are_those_of_openais_specification() -> None:
    schemas = json.loads(SPECIFICATION.read_text())["components"]["schemas"]
    properties = schemas["CreateCompletionRequest"]["properties"]
    assert set(TAKEN) == set(properties)
    for name, bounds in {**INTEGERS, **NUMBERS}.items():
        for key, ours in zip(("minimum", "maximum"), bounds, strict=True):
            theirs = DIFFERENCES.get((name, key), properties[name].get(key))
            assert theirs in (ours, None), (name, key)
    required = {name for name, field in CompletionRequestSchema().fields.items() if field.required}
    assert required == set(schemas["CreateCompletionRequest"]["required"])


USAGE = Usage(
    prompt_tokens=10,
    completion_tokens=20,
    total_tokens=31,
    cached_tokens=4,
    reasoning_tokens=5,
    audio_prompt_tokens=6,
    audio_completion_tokens=7,
    accepted_prediction_tokens=8,
    rejected_prediction_tokens=9,
)
COMPLETION = Completion(
    id="cmpl-1",
    created=1_790_000_000,
    model="m-2026",
    choices=(Choice(0, "a", "stop"), Choice(1, "b", None, {"tokens": ["b"]})),
    usage=USAGE,
    system_fingerprint="fp",
)


def test_a_completion_is_a_text_completion_object() -> None:
    assert dump_completion(COMPLETION) == {
        "id": "cmpl-1",
        "object": "text_completion",
        "created": 1_790_000_000,
        "model": "m-2026",
        "system_fingerprint": "fp",
        "choices": [
            {"index": 0, "text": "a", "logprobs": None, "finish_reason": "stop"},
            {"index": 1, "text": "b", "logprobs": {"tokens": ["b"]}, "finish_reason": None},
        ],
        "usage": dump_usage(USAGE),
    }


def test_what_is_not_known_is_left_out_and_a_chunk_has_no_usage() -> None:
    bare = dataclasses.replace(COMPLETION, usage=None, system_fingerprint=None)
    assert set(dump_completion(bare)) == {"id", "object", "created", "model", "choices"}
    assert set(dump_chunk(COMPLETION)) == set(dump_completion(COMPLETION)) - {"usage"}


def test_usage_has_every_detail_of_the_contract() -> None:
    assert dump_usage(USAGE) == {
        "prompt_tokens": 10,
        "completion_tokens": 20,
        "total_tokens": 31,
        "prompt_tokens_details": {"cached_tokens": 4, "audio_tokens": 6},
        "completion_tokens_details": {
            "reasoning_tokens": 5,
            "audio_tokens": 7,
            "accepted_prediction_tokens": 8,
            "rejected_prediction_tokens": 9,
        },
    }


@pytest.mark.parametrize("prompt", ["x" * 300_000, ["x" * 150_000] * 2, [7] * 300_000])
def test_an_answer_repeats_no_more_of_its_prompts_than_anybody_can_want(prompt: Any) -> None:
    assert problem(prompt=prompt, echo=True, n=128) == ("echo", "invalid_value")
    load_completion_request({**LEAST, "prompt": prompt, "n": 128})
    load_completion_request({**LEAST, "prompt": prompt, "echo": True})
