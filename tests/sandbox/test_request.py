"""Requests to the sandbox, checked as OpenAI checks them."""

from typing import Any

import pytest

from app.sandbox.errors import SandboxError
from app.sandbox.request import EchoRequest, load_request


def load(**fields: Any) -> EchoRequest:
    """Load a request."""
    return load_request({"model": "echo", "prompt": "a b", **fields})


def test_absent_and_null_fields_have_defaults() -> None:
    for request in (load(), load(n=None, stop=None, stream=None, best_of=None, logprobs=None)):
        assert (request.prompts, request.n, request.best_of) == (("a b",), 1, 1)
        assert (request.stop, request.stream, request.logprobs) == ((), False, None)
        assert not request.include_usage


def test_best_of_defaults_to_n() -> None:
    assert load(n=3).best_of == 3


def test_texts_may_be_one_or_several() -> None:
    request = load(prompt=["a", "b"], stop=["", "x"])
    assert (request.prompts, request.stop) == (("a", "b"), ("x",))


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"prompt": None}, "prompt"),
        ({"prompt": [1]}, "prompt"),
        ({"n": 0}, "n"),
        ({"n": "1"}, "n"),
        ({"stream": "true"}, "stream"),
        ({"temperature": 2.1}, "temperature"),
        ({"logit_bias": {"1": 101}}, "logit_bias.1.value"),
        ({"stop": ["a"] * 5}, "stop"),
        ({"stream": True, "stream_options": {"x": 1}}, "stream_options.x"),
        ({"colour": "red"}, "colour"),
        ({"n": 2, "best_of": 1}, "best_of"),
        ({"stream": True, "best_of": 2}, "best_of"),
        ({"stream_options": {"include_usage": True}}, "stream_options"),
    ],
)
def test_the_invalid_field_is_named(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(SandboxError) as caught:
        load(**fields)
    assert (caught.value.status, caught.value.param) == (400, param)


@pytest.mark.parametrize("body", [None, [], "text", 5])
def test_a_body_is_an_object(body: Any) -> None:
    with pytest.raises(SandboxError, match="JSON object"):
        load_request(body)
