"""What to write instead of a field that is absent or wrong, at any depth."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.api.mistakes.fields import explain_fields
from app.api.schemas.chat.request import load_chat_request
from app.api.schemas.completion import load_completion_request
from app.vocabulary.errors import InvalidRequest

USER = {"role": "user", "content": "x"}


def fault(body: dict[str, Any], in_chat: bool = True) -> InvalidRequest:
    """Return the explained error about a body."""
    load = load_chat_request if in_chat else load_completion_request
    with pytest.raises(InvalidRequest) as failed:
        load(body)
    explain_fields(failed.value, body)
    return failed.value


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({" model": "a/b", "prompt": "x"}, "Is it ` model`? Rename that to `model`."),
        ({"model": "a/b", "prompt ": "x"}, "`prompt `"),
        ({"model": "a/b", "question": "x"}, "`question`"),
        ({"data": {"model": "a/b", "prompt": "x"}}, "what is in `data`"),
        ({"model": "a/b", "prompt": "x", "n": "2"}, "without quotes"),
        ({"model": "a/b", "prompt": "x", "stream": "True"}, "without quotes"),
        ({"model": "a/b", "prompt": "x", "n": 2.0}, "decimal point"),
    ],
)
def test_of_a_text_completion(body: dict[str, Any], says: str) -> None:
    assert says in fault(body, in_chat=False).message


def test_each_of_several_faults_has_its_own_hint() -> None:
    error = fault({"model": "a/b", "messages": [{"rol": "user"}, {"role": "bot"}], "n": "2"})
    said = {it["param"]: str(it["message"]) for it in error.details}
    assert said["n"].endswith("Send it without quotes.")
    assert "Rename that to `role`" in said["messages[0].role"]
    assert said["messages[1].role"].endswith("Did you mean `assistant`?")
    for sentence in said.values():
        assert sentence in error.message
    assert str(error) == error.message


def test_a_field_that_resembles_nothing_gets_no_hint() -> None:
    error = fault({"model": "a/b", "messages": [{"zzz": 1}]})
    assert error.message == "`messages[0].role` is required."
    assert fault({}).details[0]["message"] == "`model` is required."


def test_of_many_names_only_the_first_are_compared() -> None:
    """While they are, no other request gets a turn."""
    many = {f"prompt{number}x" * 2: 1 for number in range(100)}
    assert "Is it" not in fault({**many, "model": "a/b", "promt": "x"}, in_chat=False).message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["role", "content", "type", "function", "name", "rol", "url", "x"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@given(JSON, JSON, JSON)
def test_any_body_gets_a_bounded_message(messages: Any, tools: Any, choice: Any) -> None:
    body = {"model": "a/b", "messages": messages, "tools": tools, "tool_choice": choice}
    error = failure(body)
    if error is not None:
        explain_fields(error, body)
        assert len(error.message) < 2000
        assert len(error.details) <= 20


def failure(body: dict[str, Any]) -> InvalidRequest | None:
    """Return the error about a body; None if there is none."""
    try:
        load_chat_request(body)
    except InvalidRequest as error:
        return error
    return None
