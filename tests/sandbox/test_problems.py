"""The sandbox's errors name every faulty field, in plain words."""

from typing import Any

import pytest

from app.sandbox.chat.request import load_chat
from app.sandbox.errors import SandboxError
from app.sandbox.problems import did_you_mean, rejection
from app.sandbox.request import load_request


@pytest.mark.parametrize(
    ("fields", "param", "code", "says"),
    [
        ({"temprature": 1}, "temprature", "unknown_parameter", "`temperature`?"),
        ({"num_retries": 2}, "num_retries", "unknown_parameter", "an option of the client"),
        ({"generationConfig": {}}, "generationConfig", "unknown_parameter", "Send its fields"),
        ({"n": "1"}, "n", "invalid_type", "a whole number"),
        ({"n": 0}, "n", "invalid_value", "must be from 1 to 128"),
        ({"temperature": "x"}, "temperature", "invalid_type", "a number"),
        ({"stream": "true"}, "stream", "invalid_type", "true or false"),
        ({"stop": ["a"] * 5}, "stop", "invalid_value", "from 1 to 4 entries"),
        ({"stop": 5}, "stop", "invalid_type", "a string or an array of strings"),
        ({"logit_bias": 5}, "logit_bias", "invalid_type", "an object"),
        ({"model": None}, "model", "missing_required_parameter", "is required"),
        ({"user": 5}, "user", "invalid_type", "a string"),
    ],
)
def test_a_faulty_field_is_named_with_what_it_must_be(
    fields: dict[str, Any], param: str, code: str, says: str
) -> None:
    asked = {"model": "echo", "prompt": "a", "messages": [{"role": "user", "content": "a"}]}
    for load, left in ((load_request, "messages"), (load_chat, "prompt")):
        with pytest.raises(SandboxError) as caught:
            load({name: it for name, it in (asked | fields).items() if name != left})
        assert (caught.value.status, caught.value.param, caught.value.code) == (400, param, code)
        assert says in caught.value.message
        assert "valid" not in caught.value.message


def test_all_faulty_fields_are_named_at_once() -> None:
    with pytest.raises(SandboxError) as caught:
        load_request({"model": "echo", "n": 0, "colour": 1, "blue": 1})
    assert caught.value.param == "prompt"
    message = caught.value.message
    assert message.index("`prompt`") < message.index("Also: ") < message.index("`n`")
    assert message.index("`blue`") < message.index("`colour`")


def test_a_name_with_a_line_break_keeps_the_error_on_one_line() -> None:
    with pytest.raises(SandboxError) as caught:
        load_request({"model": "echo", "prompt": "a", "temp\r\nX: y": 1})
    assert caught.value.message.startswith("`temp??X: y` is not a parameter")
    assert caught.value.param == "temp??X: y"


def test_many_faults_are_counted() -> None:
    found = {f"f{at}": ["Unknown field."] for at in range(9)}
    assert rejection(found, ()).message.endswith("And 4 more.")


def test_a_name_unlike_any_other_gets_no_question() -> None:
    assert did_you_mean("zebra", ["temperature"]) == ""
