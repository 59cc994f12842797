"""Schemas of callers as vendors take them that hold a model to a part of JSON Schema."""

from typing import Any

import pytest

from app.gateways.conversation.omissions import Omissions
from app.gateways.conversation.schemas import SAFE, strict_schema, without_safe_bounds
from app.vendors.vendor import Vendor

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


TEXT = {"type": "string"}
#: What Pydantic and Zod make of common models -> what is sent, and what the caller is told.
STRICT: list[tuple[dict[str, Any], dict[str, Any], tuple[str, ...]]] = [
    (
        {"type": "object", "properties": {"a": TEXT}, "title": "A"},
        {"type": "object", "properties": {"a": TEXT}, "title": "A", "additionalProperties": False},
        (),
    ),
    (
        {"type": ["object", "null"], "properties": {"format": TEXT}},
        {
            "type": ["object", "null"],
            "properties": {"format": TEXT},
            "additionalProperties": False,
        },
        (),
    ),
    ({"properties": {}}, {"properties": {}, "additionalProperties": False}, ()),
    (
        {"type": "object", "additionalProperties": True},
        {"type": "object", "additionalProperties": True},
        (),
    ),
    (
        {"type": "object", "additionalProperties": {"type": "number", "minimum": 0}},
        {"type": "object", "additionalProperties": {"type": "number"}},
        ("minimum",),
    ),
    ({"type": "integer", "minimum": 0, "maximum": SAFE}, {"type": "integer"}, ("minimum",)),
    (
        {"type": "array", "items": {"type": "string", "maxLength": 3}, "minItems": 2},
        {"type": "array", "items": TEXT},
        ("maxLength", "minItems"),
    ),
    ({"type": "array", "minItems": 1}, {"type": "array", "minItems": 1}, ()),
    (
        {"anyOf": [{"type": "string", "format": "date"}, {"type": "string", "format": "binary"}]},
        {"anyOf": [{"type": "string", "format": "date"}, TEXT]},
        ("format",),
    ),
    ({"type": "string", "format": {"a": ["date"]}}, TEXT, ("format",)),
    (
        {"oneOf": [{"type": "object"}, {"type": "null"}]},
        {"anyOf": [{"type": "object", "additionalProperties": False}, {"type": "null"}]},
        (),
    ),
    (
        {"$defs": {"minimum": {"type": "object"}}, "$ref": "#/$defs/minimum"},
        {
            "$defs": {"minimum": {"type": "object", "additionalProperties": False}},
            "$ref": "#/$defs/minimum",
        },
        (),
    ),
    (
        {"type": "string", "default": {"minimum": 1, "type": "object"}, "enum": ["a"]},
        {"type": "string", "default": {"minimum": 1, "type": "object"}, "enum": ["a"]},
        (),
    ),
]


@pytest.mark.parametrize(("schema", "expected", "dropped"), STRICT)
def test_a_schema_is_narrowed_to_what_the_vendors_take(
    schema: dict[str, Any], expected: dict[str, Any], dropped: tuple[str, ...]
) -> None:
    omissions = Omissions(Vendor(name="v", gateway="anthropic", base_url="http://x"))
    assert strict_schema(schema, omissions) == expected
    assert omissions.names == dropped


def test_schemas_that_hold_together_are_not_closed_to_each_other() -> None:
    one, other = {"type": "object", "properties": {"a": {}}}, {"type": "object"}
    omissions = Omissions(Vendor(name="v", gateway="anthropic", base_url="http://x"))
    assert strict_schema({"allOf": [one, other]}, omissions) == {"allOf": [one, other]}
    assert strict_schema({"allOf": [other]}, omissions) == {
        "allOf": [{**other, "additionalProperties": False}]
    }
