"""What serving and metering need to know of a request, whichever endpoint it came to."""

from typing import Any

import pytest

from app.vocabulary.chat.request import ChatRequest
from app.vocabulary.completion import CompletionRequest
from app.vocabulary.request import GenerationRequest, Input


def text(prompt: Any = "hi", **fields: Any) -> CompletionRequest:
    return CompletionRequest(model="v/m/x", prompt=prompt, **fields)


def chat(**fields: Any) -> ChatRequest:
    return ChatRequest(model="v/m/x", messages=(), **fields)


@pytest.mark.parametrize("request_", [text(), chat()])
def test_a_model_is_a_vendor_and_its_name_of_the_model(request_: GenerationRequest) -> None:
    assert (request_.vendor, request_.model_name) == ("v", "m/x")


@pytest.mark.parametrize(
    ("options", "wanted"), [(None, False), ({}, False), ({"include_usage": True}, True)]
)
def test_the_usage_of_a_stream_is_wanted_if_its_options_say_so(options: Any, wanted: bool) -> None:
    for request in (text(stream_options=options), chat(stream_options=options)):
        assert request.include_usage is wanted


def test_a_whole_response_has_n_choices_of_each_prompt() -> None:
    assert text(["a", "b"], n=3).choice_count == 6
    assert chat(n=3).choice_count == 3
    assert text(n=2, best_of=5).samples_generated == 5
    assert chat(n=2).samples_generated == chat(n=2).choice_count == 2


def test_the_tier_is_a_text_that_the_caller_asked_for() -> None:
    assert text(extra={"service_tier": "flex"}).service_tier == "flex"
    assert text(extra={"service_tier": 5}).service_tier is None
    assert chat(options={"service_tier": "flex"}).service_tier == "flex"
    assert chat(options={"service_tier": 5}).service_tier is None


@pytest.mark.parametrize(
    ("found", "length"),
    [(Input(("ab", "c")), 3), (Input((), (1, 2, 3)), 3), (Input(("a",), (1,), 100), 102)],
)
def test_an_input_is_as_long_as_all_that_is_read(found: Input, length: int) -> None:
    assert found.length == length


def test_what_an_error_must_not_repeat_is_all_that_the_caller_wrote() -> None:
    assert list(text(["a", "b"], suffix="s").quotable) == ["s", "a", "b"]
    assert list(text([1, 2]).quotable) == [[1, 2]]
    assert list(chat(definitions="d").quotable) == ["d"]


def test_a_part_asks_for_some_samples_of_one_prompt() -> None:
    part = text(["a", "b"], n=3, best_of=3, seed=1).part(1, 2, 9)
    assert part == text("b", n=2, seed=9)
    assert text("a", n=2, best_of=4).part(0, None, None).best_of == 4
    asked = chat(n=3, seed=1, options={"n": 3, "seed": 1, "stop": "x"})
    assert asked.part(0, None, 2) == chat(seed=2, options={"seed": 2, "stop": "x"})
    assert asked.with_n(None).parameters() == {"seed": 1, "stop": "x"}
    assert text(n=3).with_n(None) == text()


def test_one_prompt_is_no_list() -> None:
    assert text("a").is_single
    assert chat().is_single
    assert not text(["a"]).is_single
    assert not text([1, 2]).is_single
