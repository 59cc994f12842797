"""OpenAI's completions format: requests, and whole responses."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from app.gateways.openai.usage import decode_usage
from app.vocabulary.completion import Choice, Completion, CompletionRequest, HalfUsage, Usage
from app.vocabulary.errors import (
    UnsupportedParameter,
    VendorFailed,
)
from tests.gateways.openai.wire import (
    ASKED,
    GATEWAY,
    SECRET,
    STREAMED,
    VENDOR,
    decoded,
    refusal,
    sent,
    vendor,
)
from tests.support.vendor import body_of, choice, usage_of

# What is sent.


def test_a_bare_request_carries_model_and_prompt_and_nothing_else() -> None:
    assert sent(ASKED) == {"model": "m", "prompt": "hi"}


EVERYTHING: dict[str, Any] = {
    "best_of": 2,
    "echo": True,
    "frequency_penalty": -0.5,
    "logit_bias": {"50256": -100},
    "logprobs": 5,
    "max_tokens": 7,
    "n": 2,
    "presence_penalty": 2,
    "seed": -(2**63),
    "stop": ("a", "b"),
    "suffix": "end",
    "temperature": 1.5,
    "top_p": 0.25,
    "user": "someone",
}
ZEROS: dict[str, Any] = {
    "echo": False,
    "frequency_penalty": 0,
    "logit_bias": {},
    "logprobs": 0,
    "max_tokens": 0,
    "presence_penalty": 0.0,
    "seed": 0,
    "suffix": "",
    "temperature": 0,
    "top_p": 0,
    "user": "",
}


@pytest.mark.parametrize("set_", [EVERYTHING, ZEROS], ids=["everything", "zeros"])
def test_what_the_caller_set_is_sent_as_it_is(set_: dict[str, Any]) -> None:
    assert sent(CompletionRequest(model="sim/m", prompt="hi", **set_)) == json.loads(
        json.dumps({"model": "m", "prompt": "hi", **set_})
    )


@pytest.mark.parametrize("name", EVERYTHING)
def test_one_parameter_alone_brings_no_other_with_it(name: str) -> None:
    request = CompletionRequest(model="sim/m", prompt="hi", **{name: EVERYTHING[name]})
    assert set(sent(request)) == {"model", "prompt", name}


def test_fields_beyond_the_contract_are_sent_as_they_are() -> None:
    extra = {"top_k": 5, "guided_json": {"a": [1, None, {"b": "é"}]}, "x.y": False}
    request = CompletionRequest(model="sim/m", prompt="hi", extra=extra)
    assert sent(request) == {"model": "m", "prompt": "hi", **extra}


@pytest.mark.parametrize(
    "prompt", ["", "é\u2028😀", ("a", "b"), ("",), (15496, 995), ((1, 2), (3,))]
)
def test_a_prompt_is_sent_in_its_own_form(prompt: Any) -> None:
    assert sent(CompletionRequest(model="sim/m", prompt=prompt))["prompt"] == json.loads(
        json.dumps(prompt)
    )


@pytest.mark.parametrize(
    "name",
    [
        "accounts/acme/routers/fast-1",
        "accounts/A/models/Llama-3.1-8B",
        "anthropic.claude-x-v1:0",
        "ft:m:org::abc",
        "m:free",
        "a//b/",
    ],
)
def test_a_models_name_is_sent_as_it_was_written(name: str) -> None:
    assert sent(CompletionRequest(model=f"sim/{name}", prompt="hi"))["model"] == name


@pytest.mark.parametrize("options", [None, {}, {"include_usage": True}, {"include_usage": False}])
def test_a_stream_always_asks_for_its_usage(options: Any) -> None:
    request = CompletionRequest(model="sim/m", prompt="hi", stream=True, stream_options=options)
    body = sent(request)
    assert body == {
        "model": "m",
        "prompt": "hi",
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_other_stream_options_are_sent_along() -> None:
    options = {"continuous_usage_stats": True, "include_obfuscation": False, "mine": [1]}
    request = CompletionRequest(model="sim/m", prompt="hi", stream=True, stream_options=options)
    assert sent(request)["stream_options"] == {**options, "include_usage": True}


def test_a_vendor_without_stream_options_gets_none() -> None:
    request = CompletionRequest(
        model="sim/m", prompt="hi", stream=True, stream_options={"include_usage": True}
    )
    assert "stream_options" not in sent(request, vendor(asks_usage=False))


@pytest.mark.parametrize(
    ("request_", "accept"), [(ASKED, "application/json"), (STREAMED, "text/event-stream")]
)
def test_the_request_goes_to_the_completions_path_with_the_key(
    request_: CompletionRequest, accept: str
) -> None:
    encoded = GATEWAY.encode(VENDOR, request_)
    assert encoded.url == "https://v.example/v1/completions"
    assert dict(encoded.headers) == {
        "content-type": "application/json",
        "accept": accept,
        "authorization": f"Bearer {SECRET}",
    }
    assert SECRET not in repr(encoded)
    assert SECRET not in repr(VENDOR)


def test_headers_of_the_entry_come_last_and_no_key_means_no_credentials() -> None:
    headers = GATEWAY.encode(vendor(api_key=None, headers={"x-title": "Tollgate"}), ASKED).headers
    assert "authorization" not in headers
    assert headers["x-title"] == "Tollgate"


def test_what_the_entry_refuses_is_refused_dropped_or_neutral() -> None:
    picky = vendor(unsupported=frozenset({"suffix", "best_of"}))
    with pytest.raises(UnsupportedParameter) as caught:
        GATEWAY.encode(picky, CompletionRequest(model="sim/m", prompt="hi", suffix="x"))
    assert caught.value.param == "suffix"
    neutral = CompletionRequest(model="sim/m", prompt="hi", suffix="", best_of=1)
    assert sent(neutral, picky) == {"model": "m", "prompt": "hi"}
    lax = vendor(unsupported=frozenset({"suffix", "best_of"}), drop_unsupported=True)
    request = CompletionRequest(model="sim/m", prompt="hi", suffix="x", best_of=3, n=1)
    encoded = GATEWAY.encode(lax, request)
    assert encoded.dropped == ("best_of", "suffix")
    assert json.loads(encoded.body) == {"model": "m", "prompt": "hi", "n": 1}


@pytest.mark.parametrize("prompt", [(1, 2), ((1,), (2,))])
def test_token_ids_are_refused_where_the_vendor_takes_text_and_never_made_text(prompt: Any) -> None:
    with pytest.raises(UnsupportedParameter) as caught:
        GATEWAY.encode(vendor(token_prompts=False), CompletionRequest(model="sim/m", prompt=prompt))
    assert caught.value.param == "prompt"


# What comes back.


def test_an_answer_is_decoded_whole() -> None:
    logprobs = {"tokens": ["a"], "token_logprobs": [None], "top_logprobs": [{}], "text_offset": [0]}
    body = body_of(
        choice("a", "stop", logprobs=logprobs),
        usage=usage_of(3, 2),
        system_fingerprint="fp_1",
    )
    assert decoded(body) == Completion(
        id="cmpl-vendor",
        created=1_790_000_000,
        model="m-2026-01-01",
        choices=(Choice(0, "a", "stop", logprobs),),
        usage=Usage(prompt_tokens=3, completion_tokens=2, total_tokens=5),
        system_fingerprint="fp_1",
    )


@pytest.mark.parametrize(
    "indices", [[0, 1, 2, 3], [3, 1, 0, 2], [None] * 4, [0] * 4, ["0", "1", 2.0, 3.0]], ids=str
)
def test_choices_come_in_order_and_have_distinct_indices(indices: Sequence[Any]) -> None:
    texts = {index: f"text {index}" for index in range(4)}
    choices = []
    for at, index in enumerate(indices):
        text = texts[index] if sorted(map(repr, indices)) == ["0", "1", "2", "3"] else texts[at]
        choices.append({"text": text, "finish_reason": "stop", "index": index})
    answer = decoded(body_of(*choices), CompletionRequest(model="sim/m", prompt=("a", "b"), n=2))
    assert [(c.index, c.text) for c in answer.choices] == list(texts.items())


def test_choices_without_an_index_stand_where_they_are() -> None:
    choices = [{"text": text, "finish_reason": "stop"} for text in "ab"]
    asked = CompletionRequest(model="sim/m", prompt="p", n=2)
    answer = decoded(body_of(*choices), asked)
    assert [(c.index, c.text) for c in answer.choices] == [(0, "a"), (1, "b")]
    assert [(c.index, c.text) for c in decoded(body_of(*choices)).choices] == [(0, "a")]


@pytest.mark.parametrize("missing", ["id", "created", "model", "usage", "object", "logprobs"])
@pytest.mark.parametrize("value", [None, "missing", 7.5, True, [], {}], ids=str)
def test_a_field_that_is_odd_costs_nothing_but_itself(missing: str, value: Any) -> None:
    body = body_of(choice("a", "stop"), usage=usage_of(3, 2), system_fingerprint="fp")
    place = body["choices"][0] if missing == "logprobs" else body
    if value == "missing":
        place.pop(missing, None)
    else:
        place[missing] = value
    answer = decoded(body)
    assert [(c.text, c.finish_reason) for c in answer.choices] == [("a", "stop")]
    assert answer.created > 0
    assert isinstance(answer.id, str)
    assert answer.model == ("m" if missing == "model" else "m-2026-01-01")
    assert (answer.usage is None) == (missing == "usage")


@pytest.mark.parametrize("created", [-1, 0, 2**63, 1e300, "1790000000", None])
def test_a_creation_time_that_is_none_is_now(created: Any) -> None:
    now = decoded(body_of(choice("a", "stop"), created=created)).created
    assert 1_700_000_000 < now < 4_000_000_000
    assert decoded(body_of(choice("a", "stop"), created=1_790_000_000.5)).created == 1_790_000_000


@pytest.mark.parametrize("text", [None, ""])
def test_no_text_is_an_empty_text_where_the_vendor_says_why_it_ended(text: Any) -> None:
    [only] = decoded(body_of(choice(text, "content_filter"))).choices
    assert (only.text, only.finish_reason) == ("", "content_filter")


NO_ANSWERS: dict[str, Any] = {
    "nothing": b"",
    "blanks": b"\n\n",
    "HTML": b"<html>502 Bad Gateway</html>",
    "a cut body": b'{"choices":[{"text":"hel',
    "an end mark": b"[DONE]",
    "null": None,
    "a number": 5,
    "a string": "sorry",
    "an array": [[]],
    "an empty object": {},
    "a message": {"message": "hello"},
    "no choices": body_of(),
    "choices null": {"choices": None},
    "choices a string": {"choices": "a"},
    "choices an object": {"choices": {"0": choice("a", "stop")}},
    "a choice null": {"choices": [None]},
    "a choice a string": {"choices": ["a"]},
    "one choice of two null": {"choices": [choice("a", "stop"), None]},
    "a finish reason that is no success": body_of(choice("a", "error")),
    "an aborted choice": body_of(choice("a", "abort")),
    "text a number": body_of(choice(5, "stop")),  # type: ignore[arg-type]
    "text a list": body_of(choice(["a"], "stop")),  # type: ignore[arg-type]
    "a choice of nothing": body_of({"index": 0}),
    "nested too deep": b'{"choices":' + b"[" * 100 + b"]" * 100 + b"}",
    "nested without end": b'{"choices":' + b"[" * 100_000,
}


@pytest.mark.parametrize("body", NO_ANSWERS.values(), ids=NO_ANSWERS)
def test_what_is_no_answer_is_a_failure_that_may_have_been_billed(body: Any) -> None:
    error = refusal(body)
    assert type(error) is VendorFailed
    assert (error.status, error.code, error.vendor_status) == (502, "vendor_failed", None)
    assert error.billable
    assert "`sim`" in str(error)


HALF = HalfUsage(completion_tokens=2, total_tokens=2, lacks="prompt")

USAGES: dict[str, tuple[Any, Usage | None]] = {
    "absent": (None, None),
    "zeros": (usage_of(0, 0), None),
    "nulls": ({"prompt_tokens": None, "completion_tokens": None, "total_tokens": None}, None),
    "empty": ({}, None),
    "a list": ([1, 2], None),
    "a string": ("12", None),
    "plain": (usage_of(3, 2), Usage(prompt_tokens=3, completion_tokens=2, total_tokens=5)),
    "floats": (
        {"prompt_tokens": 3.0, "completion_tokens": 2.0, "total_tokens": 5.0},
        Usage(prompt_tokens=3, completion_tokens=2, total_tokens=5),
    ),
    "no total": (
        {"prompt_tokens": 3, "completion_tokens": 2},
        Usage(prompt_tokens=3, completion_tokens=2, total_tokens=5),
    ),
    "a prompt alone, scored": (
        {"prompt_tokens": 3, "completion_tokens": 0, "total_tokens": 3},
        Usage(prompt_tokens=3, total_tokens=3),
    ),
    "a total of its own": (
        {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 45},
        Usage(prompt_tokens=3, completion_tokens=42, total_tokens=45),
    ),
    "parts are no addends": (
        usage_of(
            100,
            50,
            prompt_tokens_details={"cached_tokens": 80, "cache_write_tokens": 5, "audio_tokens": 1},
            completion_tokens_details={
                "reasoning_tokens": 40,
                "audio_tokens": 2,
                "accepted_prediction_tokens": 3,
                "rejected_prediction_tokens": 4,
            },
        ),
        Usage(
            prompt_tokens=100,
            completion_tokens=50,
            total_tokens=150,
            cached_tokens=80,
            cache_write_tokens=5,
            audio_prompt_tokens=1,
            reasoning_tokens=40,
            audio_completion_tokens=2,
            accepted_prediction_tokens=3,
            rejected_prediction_tokens=4,
        ),
    ),
    "details null": (
        usage_of(3, 2, prompt_tokens_details=None, completion_tokens_details=None),
        Usage(prompt_tokens=3, completion_tokens=2, total_tokens=5),
    ),
    "details nonsense": (
        usage_of(
            3,
            2,
            prompt_tokens_details={"cached_tokens": -1, "audio_tokens": "x"},
            completion_tokens_details=[1],
        ),
        Usage(prompt_tokens=3, completion_tokens=2, total_tokens=5),
    ),
    # Half a count is a fact, and its other half is to be estimated, and marked.
    "negative": ({"prompt_tokens": -3, "completion_tokens": 2}, HALF),
    "words": ({"prompt_tokens": "x", "completion_tokens": 2}, HALF),
    "a boolean": ({"prompt_tokens": True, "completion_tokens": 2}, HALF),
    "beyond reason": (usage_of(2**40, 2), HALF),
    "beyond 64 bits": (usage_of(10**30, 2), HALF),
    "infinite": ({"prompt_tokens": float("inf"), "completion_tokens": 2}, HALF),
    "not a number": ({"prompt_tokens": float("nan"), "completion_tokens": 2}, HALF),
    "a nested count": ({"prompt_tokens": {"text": 3}, "completion_tokens": 2}, HALF),
    "a completion alone": ({"completion_tokens": 2}, HALF),
    "a prompt alone": (
        {"prompt_tokens": 5},
        HalfUsage(prompt_tokens=5, total_tokens=5, lacks="completion"),
    ),
    "a total alone": ({"total_tokens": 9}, HalfUsage(total_tokens=9, lacks="both")),
    "a prompt and a total": (
        {"prompt_tokens": 20, "total_tokens": 60},
        Usage(prompt_tokens=20, completion_tokens=40, total_tokens=60),
    ),
    "a completion and a total": (
        {"completion_tokens": 40, "total_tokens": 60},
        Usage(prompt_tokens=20, completion_tokens=40, total_tokens=60),
    ),
    "a total above the sum": (
        {"prompt_tokens": 20, "completion_tokens": 424, "total_tokens": 1016},
        Usage(prompt_tokens=20, completion_tokens=996, total_tokens=1016),
    ),
    "a total below the sum": (
        {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 12},
        Usage(prompt_tokens=10, completion_tokens=5, total_tokens=15),
    ),
    "a prompt of nothing": (
        {"prompt_tokens": 0, "completion_tokens": 5, "total_tokens": 25},
        Usage(prompt_tokens=20, completion_tokens=5, total_tokens=25),
    ),
    "cached tokens, flat": (
        {**usage_of(9, 2), "cached_tokens": 4},
        Usage(prompt_tokens=9, completion_tokens=2, total_tokens=11, cached_tokens=4),
    ),
    "cached tokens by another name": (
        {**usage_of(9, 2), "prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 5},
        Usage(prompt_tokens=9, completion_tokens=2, total_tokens=11, cached_tokens=4),
    ),
}


@pytest.mark.parametrize(("usage", "counted"), USAGES.values(), ids=USAGES)
def test_usage_is_put_together_of_what_the_vendor_counted(
    usage: Any, counted: Usage | None
) -> None:
    assert decode_usage("sim", usage) == counted


@pytest.mark.parametrize(
    ("choice_", "finish", "native"),
    [
        (choice("a"), "stop", None),
        (choice("a", ""), "stop", None),
        (choice("a", "whatever"), "length", "whatever"),
        ({"index": 0, "message": {"role": "assistant", "content": "a"}}, "stop", None),
    ],
)
def test_a_whole_answer_is_one_whatever_it_says_of_its_end(
    choice_: dict[str, Any], finish: str, native: str | None
) -> None:
    (only,) = decoded(body_of(choice_)).choices
    assert (only.text, only.finish_reason) == ("a", finish)
    assert only.native_finish_reason == native


def test_an_answer_over_the_limit_is_not_held_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.gateways.decoding.reader.RESPONSE_LIMIT", 1000)
    for body in (b"{" + b" " * 1000, b"data: {}\n\n" * 200):
        assert "too large" in refusal(body).message
