"""OpenAI's completions format: whole responses."""

from collections.abc import Sequence
from typing import Any

import pytest

from app.vocabulary.completion import Choice, Completion, CompletionRequest, Usage
from app.vocabulary.errors import (
    VendorFailed,
)
from tests.gateways.openai.wire import (
    decoded,
    refusal,
)
from tests.support.vendor import body_of, choice, usage_of


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
    "a message": {"message": "hello", "from": "x"},
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
