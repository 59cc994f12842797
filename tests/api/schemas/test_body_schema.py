"""How a body is checked: singly while it is right, and all of it once something is wrong."""

from collections.abc import Mapping
from typing import Any

import pytest
from marshmallow import ValidationError

from app.api.schemas.body_schema import BodySchema
from app.api.schemas.fields import IntegerField, StringField


class Numbered(BodySchema):
    """A name, and numbers of which the first is not above the second."""

    needed = ("name",)

    name = StringField(required=True)
    low = IntegerField(0, 9)
    high = IntegerField(0, 9)

    def check_together(self, values: Mapping[str, Any]) -> None:
        if (values.get("low") or 0) > (values.get("high") or 9):
            raise ValidationError(["is above `high`"], "low")


SCHEMA = Numbered()


def test_known_fields_are_returned_without_nulls() -> None:
    body = {"high": 3, "more": 1, "low": None, "name": "n"}
    assert SCHEMA.checked(body) == {"high": 3, "name": "n"}
    assert SCHEMA.load(body) == {"high": 3, "low": None, "name": "n"}


@pytest.mark.parametrize(
    ("body", "faulty"),
    [
        ({"name": "n", "low": 3, "high": 2}, {"low"}),
        ({"name": "n", "low": -1, "high": 10}, {"low", "high"}),
        ({"low": 3, "high": 2}, {"name"}),
        ({}, {"name"}),
        ({"name": 1, "low": "1"}, {"name", "low"}),
    ],
)
def test_the_faults_of_all_fields_are_reported(body: dict[str, Any], faulty: set[str]) -> None:
    with pytest.raises(ValidationError) as found:
        SCHEMA.checked(body)
    assert set(found.value.messages_dict) == faulty
