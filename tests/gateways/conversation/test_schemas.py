"""Bounds of integers that limit nothing are left out."""

from typing import Any

import pytest

from app.gateways.conversation.schemas import SAFE, without_safe_bounds

ZOD: dict[str, Any] = {"type": "integer", "minimum": -SAFE, "maximum": SAFE}
INTEGER = {"type": "integer"}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (ZOD, INTEGER),
        ({**ZOD, "type": ["integer", "null"]}, {"type": ["integer", "null"]}),
        ({**ZOD, "minimum": 0}, {"type": "integer", "minimum": 0}),
        ({**ZOD, "type": "number"}, {**ZOD, "type": "number"}),
        ({"type": "array", "items": ZOD}, {"type": "array", "items": INTEGER}),
        ({"anyOf": [ZOD, {"type": "null"}]}, {"anyOf": [INTEGER, {"type": "null"}]}),
        ({"properties": {"maximum": ZOD}}, {"properties": {"maximum": INTEGER}}),
        (
            {"$defs": {"n": ZOD}, "$ref": "#/$defs/n"},
            {"$defs": {"n": INTEGER}, "$ref": "#/$defs/n"},
        ),
        (
            {"enum": [ZOD], "const": ZOD, "default": ZOD},
            {"enum": [ZOD], "const": ZOD, "default": ZOD},
        ),
        (True, True),
    ],
)
def test_only_bounds_that_limit_nothing_are_left_out(schema: Any, expected: Any) -> None:
    assert without_safe_bounds(schema) == expected


def test_keys_keep_their_order() -> None:
    schema = {"z": True, "type": "integer", "maximum": SAFE, "a": 1, "minimum": -SAFE, "m": 2}
    assert list(without_safe_bounds(schema)) == ["z", "type", "a", "m"]
