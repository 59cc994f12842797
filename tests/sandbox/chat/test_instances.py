"""The least value that fits a schema."""

from typing import Any

import pytest

from app.sandbox.chat.instances import least
from app.sandbox.errors import SandboxError

WORDS = ("one", "two")


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({}, "one"),
        ({"type": "string"}, "one"),
        ({"type": "string", "minLength": 8}, "one two one"),
        ({"type": "string", "maxLength": 2}, "on"),
        ({"type": "integer"}, 0),
        ({"type": "integer", "minimum": 1.5}, 2),
        ({"type": "integer", "exclusiveMinimum": 3}, 4),
        ({"type": "number", "maximum": -0.5}, -0.5),
        ({"type": "number", "exclusiveMaximum": 0}, -1),
        ({"type": "boolean"}, True),
        ({"type": "null"}, None),
        ({"type": "nonsense"}, None),
        ({"type": ["null", "integer"]}, 0),
        ({"const": 7}, 7),
        ({"enum": ["a", "b"]}, "a"),
        ({"anyOf": [{"type": "null"}, {"type": "integer"}]}, 0),
        ({"oneOf": [{"type": "null"}]}, None),
        ({"type": "array", "items": {"type": "string"}}, []),
        ({"items": {"type": "string"}, "minItems": 3}, ["one", "two", "one"]),
        ({"type": "array", "minItems": 1}, [None]),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, {}),
        (
            {"properties": {"a": {"type": "string"}, "b": {}}, "required": ["b", "a"]},
            {"b": "one", "a": "two"},
        ),
        ({"required": ["a"]}, {"a": "one"}),
        (
            {
                "$defs": {"n": {"type": "integer"}},
                "properties": {"a": {"$ref": "#/$defs/n"}},
                "required": ["a"],
            },
            {"a": 0},
        ),
        (
            {
                "allOf": [
                    {"properties": {"a": {"type": "integer"}}, "required": ["a"]},
                    {"properties": {"b": {"type": "boolean"}}, "required": ["b"]},
                ]
            },
            {"a": 0, "b": True},
        ),
    ],
)
def test_a_value_is_made(schema: dict[str, Any], value: Any) -> None:
    assert least(schema, WORDS) == value


def test_another_start_gives_other_words_and_no_words_a_filler() -> None:
    assert least({"type": "string"}, WORDS, 1) == "two"
    assert least({"type": "string"}, WORDS, 2) == "one"
    assert least({"type": "string"}, ()) == "echo"


def test_a_reference_to_itself_that_may_end_ends() -> None:
    tree = {"properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}}
    assert least({**tree, "type": "object"}, WORDS) == {}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"$ref": "#"}, "leads to itself"),
        ({"$ref": "#/$defs/none"}, "leads nowhere"),
        ({"$ref": "https://ex.org/schema"}, "leads nowhere"),
        ({"properties": {"a": {"$ref": "#"}}, "required": ["a"]}, "levels deep"),
        ({"minItems": 9000, "items": {"minItems": 9000, "items": {}}}, "larger than"),
        ({"minItems": 9000, "items": {"type": "string", "minLength": 9000}}, "larger than"),
        ({"allOf": [{"$ref": "#"}]}, "not a valid"),
        ({"allOf": [True]}, "not a valid"),
        ({"allOf": "x"}, "not a valid"),
        ({"enum": {"a": 1}}, "not a valid"),
        ({"properties": ["a"], "required": ["a"]}, "not a valid"),
        ({"type": "object", "required": 5}, "not a valid"),
        ({"type": "integer", "minimum": "5"}, "not a valid"),
        ({"type": "integer", "exclusiveMaximum": "5"}, "not a valid"),
    ],
)
def test_a_schema_without_a_value_is_rejected(schema: dict[str, Any], words: str) -> None:
    with pytest.raises(SandboxError, match=words):
        least(schema, WORDS)
