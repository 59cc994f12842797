"""What the echo answers, and how it counts."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.sandbox.echo import answer, count_usage
from app.sandbox.errors import SandboxError
from app.sandbox.request import EchoRequest, load_request


def ask(prompt: Any = "one two three", model: str = "echo", **fields: Any) -> EchoRequest:
    return load_request({"model": model, "prompt": prompt, **fields})


def texts(request: EchoRequest) -> list[str]:
    return [choice.text for choice in answer(request)]


def test_the_answer_is_the_words_of_the_prompt() -> None:
    request = ask("one  two\nthree")
    assert texts(request) == ["one two three"]
    assert answer(request)[0].finish_reason == "stop"
    assert count_usage(request, answer(request)) == {
        "prompt_tokens": 3,
        "completion_tokens": 3,
        "total_tokens": 6,
    }


def test_the_words_knob_sets_the_length() -> None:
    assert texts(ask(model="echo?words=5")) == ["one two three one two"]
    assert texts(ask(model="echo?words=0")) == [""]
    assert texts(ask("", model="echo?words=2")) == ["echo echo"]


@pytest.mark.parametrize(
    ("max_tokens", "text", "finish_reason"),
    [(0, "", "length"), (2, "one two", "length"), (3, "one two three", "stop")],
)
def test_max_tokens_ends_the_answer(max_tokens: int, text: str, finish_reason: str) -> None:
    choice = answer(ask(max_tokens=max_tokens))[0]
    assert (choice.text, choice.finish_reason) == (text, finish_reason)


def test_a_stop_sequence_is_left_out_and_may_lie_across_words() -> None:
    request = ask(stop=["wo th", "nothing"])
    choices = answer(request)
    assert (choices[0].text, choices[0].finish_reason) == ("one t", "stop")
    assert count_usage(request, choices)["completion_tokens"] == 2


def test_choices_are_numbered_prompt_by_prompt() -> None:
    choices = answer(ask(["a b", "c d"], n=2))
    assert [(c.index, c.text) for c in choices] == [(0, "a b"), (1, "b a"), (2, "c d"), (3, "d c")]


def test_a_prompt_counts_once_and_each_choice_counts() -> None:
    request = ask(["a b", "c"], n=2)
    usage = count_usage(request, answer(request))
    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (3, 6)


def test_candidates_that_best_of_discards_are_counted() -> None:
    request = ask(n=1, best_of=3)
    assert len(answer(request)) == 1
    assert count_usage(request, answer(request))["completion_tokens"] == 9


def test_echo_puts_the_prompt_first_as_it_was_written() -> None:
    assert texts(ask(" one\n two", echo=True)) == [" one\n two one two"]
    assert texts(ask("one ", echo=True)) == ["one one"]
    request = ask("one two", echo=True, max_tokens=0)
    assert texts(request) == ["one two"]
    assert count_usage(request, answer(request))["completion_tokens"] == 0


def test_logprobs_say_where_each_token_is() -> None:
    choice = answer(ask("ab c", echo=True, max_tokens=1))[0]
    assert choice.logprobs(1) == {
        "tokens": ["ab", " c", " ab"],
        "token_logprobs": [None, 0.0, 0.0],
        "top_logprobs": [None, {" c": 0.0}, {" ab": 0.0}],
        "text_offset": [0, 2, 4],
    }
    assert choice.logprobs(0, 1, 2) == {
        "tokens": [" c"],
        "token_logprobs": [0.0],
        "top_logprobs": None,
        "text_offset": [2],
    }
    assert choice.logprobs(None) is None


@given(
    prompt=st.text(max_size=40),
    words=st.integers(0, 20),
    stop=st.lists(st.text(min_size=1, max_size=3), min_size=1, max_size=4),
    max_tokens=st.integers(0, 20),
    echo=st.booleans(),
)
def test_no_answer_is_longer_than_asked_or_holds_its_stop(
    prompt: str, words: int, stop: list[str], max_tokens: int, echo: bool
) -> None:
    request = ask(prompt, f"echo?words={words}", stop=stop, max_tokens=max_tokens, echo=echo)
    choice = answer(request)[0]
    assert len(choice.pieces) - choice.prompt_pieces <= min(words, max_tokens)
    shown = "".join(choice.pieces[: choice.prompt_pieces])
    assert shown == (prompt if echo else "")
    said = choice.text[len(shown) :]
    joint = " " if echo and said and not prompt[-1:].isspace() and prompt else ""
    assert not any(text in said.removeprefix(joint) for text in stop)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"prompt": None}, "prompt"),
        ({"prompt": []}, "prompt"),
        ({"prompt": [1, 2]}, "prompt"),
        ({"n": 0}, "n"),
        ({"n": "2"}, "n"),
        ({"n": 3, "best_of": 2}, "best_of"),
        ({"best_of": 2, "stream": True}, "best_of"),
        ({"logprobs": 6}, "logprobs"),
        ({"max_tokens": -1}, "max_tokens"),
        ({"stop": list("abcde")}, "stop"),
        ({"temperature": 2.1}, "temperature"),
        ({"logit_bias": {"5": 101}}, "logit_bias.5.value"),
        ({"stream_options": {"include_usage": True}}, "stream_options"),
        ({"stream": True, "stream_options": {"other": 1}}, "stream_options.other"),
        ({"suffix": "x"}, "suffix"),
        ({"messages": []}, "messages"),
        ({"model": "echo?word=1"}, "model"),
        ({"model": "echo?words=x"}, "model"),
        ({"model": "echo?words=1.5"}, "model"),
        ({"model": "echo?words=-1"}, "model"),
        ({"model": "echo?delay_ms=nan"}, "model"),
        ({"model": "echo?status=200"}, "model"),
        ({"model": "echo?words=1&words=2"}, "model"),
        ({"model": "echo?retry_after=3"}, "model"),
    ],
)
def test_a_wrong_request_is_refused_by_name(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(SandboxError) as refusal:
        load_request({"model": "echo", "prompt": "hi", **fields})
    assert (refusal.value.status, refusal.value.param) == (400, param)


def test_null_means_absent() -> None:
    optional = ("best_of", "echo", "logprobs", "max_tokens", "n", "stop", "stream", "user")
    absent: dict[str, Any] = dict.fromkeys(optional)
    assert ask(**absent) == ask()


def test_a_model_other_than_echo_does_not_exist() -> None:
    with pytest.raises(SandboxError) as refusal:
        ask(model="gpt?words=1")
    assert (refusal.value.status, refusal.value.code) == (404, "model_not_found")
