"""The scalar fields of a request body: strict types and bounds."""

from typing import Any

import pytest
from marshmallow import ValidationError

from app.api.schemas.fields import (
    TYPE,
    VALUE,
    BooleanField,
    IntegerField,
    Nullable,
    NumberField,
    Problem,
    StringField,
    each,
    wrong_type,
)


def problem_of(field: Nullable, value: Any) -> Problem:
    """Return what is wrong with a value."""
    with pytest.raises(ValidationError) as caught:
        field.deserialize(value)
    (problem,) = caught.value.messages
    assert isinstance(problem, Problem)
    return problem


@pytest.mark.parametrize("value", ["5", 5.0, True, [5]])
def test_an_integer_is_written_as_one(value: Any) -> None:
    assert problem_of(IntegerField(0, 9), value).code == TYPE


@pytest.mark.parametrize(("value", "is_allowed"), [(0, True), (9, True), (-1, False), (10, False)])
def test_bounds_are_inclusive(value: int, is_allowed: bool) -> None:
    if is_allowed:
        assert IntegerField(0, 9).deserialize(value) == value
    else:
        problem = problem_of(IntegerField(0, 9), value)
        assert (problem.code, problem) == (VALUE, "must be from 0 to 9")


def test_a_number_without_an_upper_bound_says_only_the_lower_one() -> None:
    field = NumberField(1)
    assert field.deserialize(1e9) == 1e9
    assert problem_of(field, 0.5) == "must be >= 1"
    assert field.json_schema() == {"type": ["number", "null"], "minimum": 1}


def test_a_boolean_is_not_a_number_and_a_string_is_not_anything_else() -> None:
    assert BooleanField().deserialize(False) is False
    assert problem_of(BooleanField(), 1).code == TYPE
    assert StringField().deserialize("") == ""
    assert problem_of(StringField(), 5).code == TYPE


@pytest.mark.parametrize("field", [IntegerField(0), BooleanField(), StringField()])
def test_null_means_absent(field: Nullable) -> None:
    assert field.deserialize(None) is None


def test_the_first_invalid_item_is_named_by_its_index() -> None:
    def check(value: Any) -> int:
        if not isinstance(value, int):
            raise wrong_type("an integer")
        return value * 2

    assert each([1, 2], check) == [2, 4]
    assert each(["skipped", 2], check, start=1) == [4]
    with pytest.raises(ValidationError) as caught:
        each([1, "x", "y"], check)
    assert caught.value.messages == {1: ["must be an integer"]}
