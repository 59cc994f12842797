"""The fields of a query string."""

from typing import Any

import pytest
from marshmallow import ValidationError
from marshmallow.fields import Field

from app.api.schemas.query_fields import (
    Flag,
    Ids,
    Integer,
    Models,
    OneOf,
    Scalar,
    Texts,
    TimeZone,
    Words,
)


def messages_of(field: Field[Any], value: Any) -> Any:
    """Return what is wrong with a value."""
    with pytest.raises(ValidationError) as caught:
        field.deserialize(value)
    return caught.value.messages


def test_a_scalar_is_given_once() -> None:
    assert Scalar().deserialize("a") == "a"
    assert messages_of(Scalar(), ["a", "b"]) == ["must be given once"]


@pytest.mark.parametrize("text", ["", "x", "1.0", "+1", " 1", "1_0"])
def test_an_integer_is_digits(text: str) -> None:
    assert messages_of(Integer(0, 9), text) == ["must be an integer"]


@pytest.mark.parametrize("text", ["-1", "10", "9" * 5000])
def test_an_integer_has_bounds(text: str) -> None:
    assert messages_of(Integer(0, 9), text) == ["must be from 0 to 9"]


def test_one_of_a_few_words_has_its_value() -> None:
    field = OneOf({"json": False, "csv": True}, load_default=False)
    assert field.deserialize("csv") is True
    assert messages_of(field, "xml") == ["must be `json` or `csv`"]
    assert messages_of(OneOf({"a": 1}, load_default=1), "b") == ["must be `a`"]
    assert field.json_schema()["default"] == "json"


def test_a_flag_is_true_or_false() -> None:
    assert (Flag().deserialize("true"), Flag().deserialize("false")) == (True, False)
    messages_of(Flag(), "True")


def test_a_time_zone_is_a_name_and_not_a_path() -> None:
    assert TimeZone().deserialize("Europe/Zurich") == "Europe/Zurich"
    for text in ("Europe/Nowhere", "../etc/passwd", ""):
        messages_of(TimeZone(), text)


def test_the_first_invalid_item_of_an_array_is_named() -> None:
    assert Texts().deserialize(["a", "b", "a"]) == {"a", "b"}
    assert messages_of(Texts(), ["a", ""]) == {1: ["must not be empty or contain NUL"]}
    assert Texts().deserialize(["a,b"]) == {"a,b"}


def test_a_list_of_ids_in_one_parameter_says_how_several_are_given() -> None:
    assert Ids().deserialize(["acme", "beta"]) == {"acme", "beta"}
    said = "must be one ID; repeat the parameter for each of several"
    assert messages_of(Ids(), ["acme,beta"]) == {0: [said]}
    assert messages_of(Ids(), [""]) == {0: ["must not be empty or contain NUL"]}
    assert list(messages_of(Models(), ["v/m", "m"])) == [1]
    assert messages_of(Words(("model",)), ["model", "user"]) == {1: ["must be one of model"]}
    several = {0: ["must be one of a, b; repeat the parameter for each of several"]}
    assert messages_of(Words(("a", "b")), ["a,b"]) == several
