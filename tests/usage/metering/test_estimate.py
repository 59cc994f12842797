"""Estimates: counted offline, near enough, and never of what was not generated."""

import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.admission.at_most import usage_at_most
from app.usage.metering.estimate import SLICE_CHARS, count_completions, count_prompts, count_tokens
from app.vocabulary.chat.message import Message
from app.vocabulary.chat.parts import (
    FILE_TOKENS,
    IMAGE_TOKENS,
    LOW_DETAIL_TOKENS,
    SOUND_TOKENS,
    AudioPart,
    FilePart,
    ImagePart,
    Part,
    TextPart,
)
from app.vocabulary.chat.request import ChatRequest
from app.vocabulary.chat.tools import ToolCall
from app.vocabulary.completion import CompletionRequest


def asking(prompt: Any, **parameters: Any) -> CompletionRequest:
    """Return a request for `prompt`."""
    return CompletionRequest(model="sim/m", prompt=prompt, **parameters)


# The counts are those of OpenAI's o200k_base.
@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("hello", 1), ("hello world", 2), (" ", 1), ("<|endoftext|>", 7), ("\n\n\n", 1)],
)
def test_tokens_are_counted_as_openais_newer_models_do(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens


@given(st.text(st.characters()))
def test_any_text_can_be_counted(text: str) -> None:
    tokens = count_tokens(text)
    assert (tokens == 0) == (text == "")
    assert tokens <= len(text.encode("utf-8", "surrogatepass"))


def test_a_long_text_is_counted_in_slices_with_next_to_no_error() -> None:
    words = "The quick brown fox jumps over the lazy dog. " * 4_000
    slices = len(words) // SLICE_CHARS
    assert slices > 5
    assert 40_000 <= count_tokens(words) <= 40_000 + 2 * slices + 1


@pytest.mark.parametrize("text", ["x" * 300_000, " " * 300_000, "\ud83d" * 10_000, "語" * 100_000])
def test_a_text_without_words_is_counted_in_reasonable_time(text: str) -> None:
    assert 0 < count_tokens(text) <= 4 * len(text)


@pytest.mark.parametrize(
    ("prompt", "tokens"),
    [
        ("", 0),
        ("hello world", 2),
        (("hello", "hello world", ""), 3),
        ((1, 2, 3), 3),
        (((1, 2, 3), (4,)), 4),
    ],
)
def test_each_prompt_is_counted_once_however_many_samples(prompt: Any, tokens: int) -> None:
    assert count_prompts(asking(prompt)) == tokens
    assert count_prompts(asking(prompt, n=5, best_of=5)) == tokens


def test_every_choice_is_counted() -> None:
    texts = {1: " world", 0: "hello world", 2: ""}
    assert count_completions(asking("hello", n=2), texts) == 3


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("hello world and more", 2),
        ("hello world", 0),
        ("hello wo", 0),
        ("", 0),
        # not the prompt: then it is all the model's own
        (" and more", 2),
    ],
)
def test_an_echoed_prompt_is_not_generated_nor_is_half_of_one(text: str, tokens: int) -> None:
    assert count_completions(asking("hello world", echo=True), {0: text}) == tokens


def test_a_text_that_begins_like_its_prompt_counts_whole_without_echo() -> None:
    assert count_completions(asking("hello"), {0: "hello world"}) == 2
    assert count_completions(asking("hello", echo=False), {0: "hello world"}) == 2


def test_each_choice_echoes_the_prompt_it_answers() -> None:
    request = asking(("hello", "world"), n=2, echo=True)
    texts = {0: "hello world", 1: "hello", 2: "world hello", 3: "world"}
    assert count_completions(request, texts) == 2
    # a choice that was not requested echoes nothing known
    assert count_completions(request, {4: "hello world"}) == 2


def test_echoed_token_ids_are_taken_off_by_their_number() -> None:
    request = asking((15339, 1917), echo=True)
    assert count_completions(request, {0: "hello world and more"}) == 2
    assert count_completions(request, {0: "hello"}) == 0


def test_the_tokenizer_is_loaded_only_when_something_is_estimated() -> None:
    code = """
import sys
import app.usage.metering.estimate as estimate
assert not any(name.startswith("bpe_openai") for name in sys.modules)
assert estimate.count_tokens("hello world") == 2
assert "bpe_openai" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def chatting(*texts: str, **fields: Any) -> ChatRequest:
    """Return a chat request with these messages of the user."""
    messages = tuple(
        Message(
            role="user",
            path=f"messages[{at}]",
            source={},
            parts=(TextPart(text=text, source={}, path=""),),
        )
        for at, text in enumerate(texts)
    )
    return ChatRequest(model="sim/m", messages=messages, **fields)


def test_all_that_a_chat_model_reads_is_counted_as_one_prompt() -> None:
    call = ToolCall(0, "c", "hello", "hello world")
    history = Message(role="assistant", path="", source={"reasoning": "hello"}, tool_calls=(call,))
    request = chatting("hello", "hello world")
    request = replace(request, messages=(*request.messages, history), n=3)
    assert count_prompts(request) == 1 + 2 + 1 + 2 + 1
    assert request.choice_count == 3
    assert count_prompts(replace(request, definitions="hello world")) == 7 + 2


@pytest.mark.parametrize(
    ("part", "tokens"),
    [
        (ImagePart(url="data:x", detail="low", source={}, path=""), LOW_DETAIL_TOKENS),
        (ImagePart(url="data:" + "x" * 2_500_000, source={}, path=""), IMAGE_TOKENS),
        (AudioPart(data="x" * 9_999_999, format="wav", source={}, path=""), SOUND_TOKENS),
        (FilePart(data="x" * 9_999_999, source={}, path=""), FILE_TOKENS),
        (Part(type="video_url", source={"url": "x" * 9_999_999}, path=""), FILE_TOKENS),
    ],
)
def test_what_is_no_text_counts_by_a_stated_number_and_not_by_its_length(
    part: Part, tokens: int
) -> None:
    message = Message(role="user", path="", source={}, parts=(part,))
    request = ChatRequest(model="sim/m", messages=(message,))
    assert count_prompts(request) == tokens
    assert usage_at_most(request).prompt_tokens == tokens


def test_no_estimate_exceeds_the_limit_that_the_caller_set() -> None:
    long = '{"a": "\\"' * 1500
    assert count_completions(chatting("hi"), {0: long}) > 1000
    assert count_completions(chatting("hi", max_tokens=500), {0: long}) == 500
    assert count_completions(chatting("hi", max_tokens=500, n=2), {0: long, 1: "a"}) == 501
    assert count_completions(asking("hi", max_tokens=500), {0: long}) == 500
