"""Texts are completed over chat: a prompt in a message out, a reply's text the completion."""

import json
from typing import Any

import pytest

from app.vocabulary.completion import Choice, Completion
from app.vocabulary.errors import UnsupportedParameter
from tests.gateways.rows import Row


def chat(**keys: Any) -> Row:
    """Return an entry whose models are called through chat."""
    return Row("openai", "OPENAI_API_KEY", **keys)


def answer(message: dict[str, Any], finish: str = "stop", **choice: Any) -> dict[str, Any]:
    """Return a whole answer of a vendor's chat."""
    told = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return {"id": "c1", "created": 1, "model": "m", "choices": [told | choice], "citations": ["u"]}


def events(*deltas: dict[str, Any], finish: str = "stop") -> list[bytes]:
    """Return the stream of a vendor's chat."""
    choices: list[dict[str, Any]] = [
        {"index": 0, "delta": delta, "finish_reason": None} for delta in deltas
    ]
    choices.append({"index": 0, "delta": {}, "finish_reason": finish})
    head = {"id": "c1", "created": 1, "model": "m"}
    frames = [b"data: %s\n\n" % json.dumps(head | {"choices": [it]}).encode() for it in choices]
    return [*frames, b"data: [DONE]\n\n"]


def said(chunks: list[Completion]) -> list[Choice]:
    """Return all deltas of a stream."""
    return [choice for chunk in chunks for choice in chunk.choices]


CALL = {"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def test_the_prompt_is_the_only_message_and_nothing_is_added() -> None:
    sent = chat().sent("gpt-4o", prompt="Once", temperature=0.5, user="me")
    assert sent == {
        "model": "gpt-4o",
        "messages": [{"role": "user", "content": "Once"}],
        "temperature": 0.5,
        "user": "me",
    }


@pytest.mark.parametrize(
    "message",
    [
        {"content": "hi", "reasoning_content": "hm", "annotations": [{"type": "x"}]},
        {"content": "hi", "tool_calls": [CALL]},
        {"content": "hi", "refusal": None},
    ],
)
def test_of_a_reply_only_the_text_is_left(message: dict[str, Any]) -> None:
    for finish in ("stop", "tool_calls"):
        completion = chat().decoded(answer(message, finish))
        assert completion.choices == (Choice(0, "hi", "stop"),)
        assert completion.extra is None
        choices = said(chat().chunks(events(message, finish=finish)))
        assert [choice.text for choice in choices] == ["hi", ""]
        assert choices[-1].finish_reason == "stop"
        assert all(choice.reply is None for choice in choices)


def test_a_refusal_ends_a_text_like_a_filter() -> None:
    message = {"content": None, "refusal": "I will not"}
    assert chat().decoded(answer(message)).choices == (Choice(0, "", "content_filter"),)
    assert said(chat().chunks(events(message))) == [Choice(0, "", "content_filter")]


def test_reasoning_is_a_sign_of_life_without_a_choice() -> None:
    chunks = chat().chunks(events({"reasoning_content": "hm"}, {"content": "hi"}))
    assert [len(chunk.choices) for chunk in chunks] == [0, 1, 1]


def test_log_probabilities_have_the_form_of_texts() -> None:
    entries = [
        {
            "token": "hi",
            "logprob": -0.5,
            "bytes": [104, 105],
            "top_logprobs": [{"token": "ho", "logprob": -1.0, "bytes": None}],
        }
    ]
    body = answer({"content": "hi"}, logprobs={"content": entries})
    assert chat().decoded(body, logprobs=1).choices[0].logprobs == {
        "tokens": ["hi"],
        "token_logprobs": [-0.5],
        "top_logprobs": [{"ho": -1.0, "hi": -0.5}],
        "text_offset": [0],
    }
    alone = chat().decoded(body, logprobs=0).choices[0].logprobs
    assert alone is not None
    assert alone["top_logprobs"] is None
    assert chat().decoded(body).choices[0].logprobs is None  # nobody asked for them


def test_a_number_of_alternatives_is_a_flag_and_a_number() -> None:
    assert chat().sent("gpt-4o", logprobs=0)["logprobs"] is True
    assert "top_logprobs" not in chat().sent("gpt-4o", logprobs=0)
    assert chat().sent("gpt-4o", logprobs=3)["top_logprobs"] == 3


@pytest.mark.parametrize("name", ["best_of", "suffix"])
def test_what_chat_has_no_word_for_is_refused_in_the_callers_words(name: str) -> None:
    values: dict[str, Any] = {"best_of": 3, "suffix": "x"}
    with pytest.raises(UnsupportedParameter) as caught:
        chat().sent("gpt-4o", **{name: values[name]})
    assert caught.value.param == name


def test_faults_of_one_parameter_are_one() -> None:
    strict = chat(unsupported=frozenset({"logprobs", "top_logprobs"}))
    with pytest.raises(UnsupportedParameter) as caught:
        strict.sent("gpt-4o", logprobs=3)
    assert caught.value.param == "logprobs"
    assert "top_logprobs" not in str(caught.value.body())


def test_what_is_dropped_is_named_once_in_the_callers_words() -> None:
    lax = chat(unsupported=frozenset({"logprobs", "top_logprobs"}), drop_unsupported=True)
    request = lax.asks("gpt-4o", logprobs=3, suffix="x")
    assert lax.gateway.encode(lax.vendor, request).dropped == ("logprobs", "suffix")


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("messages", "prompt"),
        ("messages[0].content", "prompt"),
        ("messages.0.content", "prompt"),
        ("top_logprobs", "logprobs"),
        ("max_completion_tokens", "max_tokens"),
        ("temperature", "temperature"),
        ("n", "n"),
    ],
)
def test_a_vendors_error_names_the_callers_field(theirs: str, ours: str) -> None:
    body = json.dumps({"error": {"message": "no", "param": theirs}}).encode()
    row = chat()
    assert row.gateway.decode_error(row.vendor, 400, {}, body).param == ours


def test_what_texts_alone_want_is_sent_with_them_unless_the_caller_says_otherwise() -> None:
    row = Row("deepseek", "DEEPSEEK_API_KEY")
    thinking = {"type": "disabled"}
    assert row.sent("deepseek-v4")["thinking"] == thinking
    own = {"type": "enabled"}
    assert row.sent("deepseek-v4", extra={"thinking": own})["thinking"] == own
