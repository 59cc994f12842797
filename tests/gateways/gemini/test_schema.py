"""Callers' JSON Schemas, as Google's JSON Schema fields take them."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.gateways.gemini.schema import json_schema
from app.vocabulary.errors import InvalidRequest

PATH = "tools[0].function.parameters"

#: What the reference of GenerationConfig.responseJsonSchema lists.
DOCUMENTED = {
    *("$id", "$defs", "$ref", "$anchor", "type", "format", "title", "description", "enum"),
    *("items", "prefixItems", "minItems", "maxItems", "minimum", "maximum", "anyOf", "oneOf"),
    *("properties", "additionalProperties", "required", "propertyOrdering"),
}


def nodes(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield a schema and all schemas in it."""
    yield schema
    for name, value in schema.items():
        inner: list[Any] = []
        if name in ("properties", "$defs"):
            inner = list(value.values())
        elif name in ("anyOf", "oneOf", "prefixItems"):
            inner = value
        elif name in ("items", "additionalProperties"):
            inner = [value]
        for node in inner:
            if isinstance(node, dict):
                yield from nodes(node)


def complaints(schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a strict reader would refuse."""
    for node in nodes(schema):
        if unknown := set(node) - DOCUMENTED:
            yield f"unknown: {unknown}"
        if "$ref" in node and set(node) - {"$ref", "$defs"}:
            yield "siblings of a reference"
        if not isinstance(node.get("type", ""), str):
            yield "several types"
        if "items" in node and node.get("type") != "array":
            yield "items beside no array"
        if str(node.get("$ref", "#/$defs/")).rpartition("/")[0] != "#/$defs":
            yield "a reference to somewhere else"


def test_properties_with_the_names_of_keywords_stay() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "title": {"type": "string", "default": "x"},
            "default": {"type": "integer", "minimum": 1, "exclusiveMaximum": 5},
            "$ref": {"type": "string"},
            "additionalProperties": {
                "type": "array",
                "items": {"type": "object", "additionalProperties": False, "patternProperties": {}},
            },
        },
        "required": ["title", "default"],
        "additionalProperties": False,
    }
    assert json_schema(schema, PATH) == {
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "default": {"type": "integer", "minimum": 1},
            "$ref": {"type": "string"},
            "additionalProperties": {
                "type": "array",
                "items": {"type": "object", "additionalProperties": False},
            },
        },
        "required": ["title", "default"],
        "additionalProperties": False,
    }


def test_keys_keep_their_order() -> None:
    schema = {"type": "object", "properties": {"z": {}, "a": {}, "m": {}}, "description": "d"}
    converted = json_schema(schema, PATH)
    assert list(converted) == ["type", "properties", "description"]
    assert list(converted["properties"]) == ["z", "a", "m"]


CITY = {"type": "object", "properties": {"name": {"type": "string"}}}


@pytest.mark.parametrize(
    ("pointer", "where"),
    [
        ("#/$defs/City", {"$defs": {"City": CITY}}),
        ("#/definitions/City", {"definitions": {"City": CITY}}),
        ("#/$defs/a~1b", {"$defs": {"a/b": CITY}}),
    ],
)
def test_a_reference_stays_one_and_stands_alone(pointer: str, where: Any) -> None:
    home = {"$ref": pointer, "description": "Where you live."}
    schema = {**where, "type": "object", "properties": {"home": home, "work": {"$ref": pointer}}}
    converted = json_schema(schema, PATH)
    ((name, city),) = converted["$defs"].items()
    assert city == CITY
    assert converted["properties"] == {
        "home": {"description": "Where you live.", "anyOf": [{"$ref": f"#/$defs/{name}"}]},
        "work": {"$ref": f"#/$defs/{name}"},
    }
    assert not list(complaints(converted))


def test_two_definitions_never_fall_together() -> None:
    schema = {
        "$defs": {"a/b": {"type": "string"}, "a_1b": {"type": "integer"}},
        "anyOf": [{"$ref": "#/$defs/a~1b"}, {"$ref": "#/$defs/a_1b"}],
    }
    assert len(json_schema(schema, PATH)["$defs"]) == 2


def test_a_reference_to_a_property_is_a_definition() -> None:
    """As zod writes a schema that it met before."""
    schema = {
        "type": "object",
        "properties": {
            "headers": {"type": "object"},
            "all": {"type": "array", "items": {"$ref": "#/properties/headers"}},
        },
    }
    converted = json_schema(schema, PATH)
    assert list(converted["$defs"].values()) == [{"type": "object"}]
    assert not list(complaints(converted))


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"child": {"$ref": "#"}}},
        {"$defs": {"N": {"properties": {"next": {"$ref": "#/$defs/N"}}}}, "$ref": "#/$defs/N"},
        {
            "$defs": {"A": {"items": {"$ref": "#/$defs/B"}}, "B": {"items": {"$ref": "#/$defs/A"}}},
            "properties": {"a": {"$ref": "#/$defs/A"}},
        },
    ],
)
def test_a_schema_that_refers_to_itself_is_refused_by_name(schema: Any) -> None:
    with pytest.raises(InvalidRequest, match="refers to itself") as caught:
        json_schema(schema, PATH)
    assert caught.value.param == PATH


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/None"},
        {"$ref": "https://ex.org/schema.json"},
        {"properties": {"a": False}},
        {"properties": {"a": "string"}},
        {"allOf": [{"type": "object"}, {"type": "object"}]},
        {"$defs": {"A": {}}, "$ref": "#/$defs/A", "anyOf": [{}]},
    ],
)
def test_what_cannot_be_said_is_refused_by_name(schema: Any) -> None:
    with pytest.raises(InvalidRequest) as caught:
        json_schema(schema, PATH)
    assert caught.value.param == PATH


def test_long_chains_of_references_are_refused() -> None:
    chain = {f"D{at}": {"items": {"$ref": f"#/$defs/D{at + 1}"}} for at in range(2000)}
    with pytest.raises(InvalidRequest, match="levels deep"):
        json_schema({"$defs": {**chain, "D2000": {}}, "$ref": "#/$defs/D0"}, PATH)


def test_a_node_of_several_types_is_alternatives_that_each_are_whole() -> None:
    schema = {
        "type": ["array", "null"],
        "description": "d",
        "items": {"type": ["object", "null"], "properties": {"v": True}, "required": ["v"]},
    }
    converted = json_schema({"type": "object", "properties": {"a": schema}}, PATH)
    assert not list(complaints(converted))
    inner = {"type": "object", "properties": {"v": {}}, "required": ["v"]}
    assert converted["properties"]["a"] == {
        "description": "d",
        "anyOf": [
            {"type": "array", "items": {"anyOf": [inner, {"type": "null"}]}},
            {"type": "null"},
        ],
    }


@pytest.mark.parametrize(
    ("schema", "converted"),
    [
        ({"type": ["string"]}, {"type": "string"}),
        (
            {"type": ["string", "integer", "null"], "enum": ["a", 1, None], "minimum": 0},
            {
                "anyOf": [
                    {"type": "string", "enum": ["a"]},
                    {"type": "integer", "minimum": 0, "enum": [1]},
                    {"type": "null"},
                ]
            },
        ),
        (
            {"type": ["string", "null"], "enum": ["a"]},
            {"anyOf": [{"type": "string", "enum": ["a"]}]},
        ),
        ({"const": "cat", "type": "string"}, {"enum": ["cat"], "type": "string"}),
        (
            {"allOf": [{"type": "string"}], "title": "T"},
            {"title": "T", "anyOf": [{"type": "string"}]},
        ),
        ({"items": [{}, True], "type": "array"}, {"prefixItems": [{}, {}], "type": "array"}),
        ({"type": "object", "additionalProperties": {"type": ["null"]}}, None),
    ],
)
def test_other_ways_to_say_the_same(schema: Any, converted: Any) -> None:
    told = json_schema(schema, PATH)
    assert converted is None or told == converted
    assert not list(complaints(told))


WORDS = [*sorted(DOCUMENTED), "allOf", "const", "default", "definitions", "not", "a"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["string", "#", "#/a", "object"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(WORDS), VALUES, max_size=4))
def test_no_schema_raises_anything_but_our_refusal(schema: Any) -> None:
    with contextlib.suppress(InvalidRequest):
        json_schema(schema, PATH)


@pytest.mark.parametrize(
    ("schema", "converted"),
    [
        ({"enum": ["a", 1, 2.5]}, {"enum": ["a", 1, 2.5]}),
        ({"enum": ["a", None]}, {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]}),
        (
            {"enum": ["a", 1, None, True], "description": "d"},
            {
                "description": "d",
                "anyOf": [
                    {"type": "string", "enum": ["a"]},
                    {"type": "integer", "enum": [1]},
                    {"type": "null"},
                    {"type": "boolean"},
                ],
            },
        ),
        ({"const": None}, {"type": "null"}),
        ({"const": True}, {"type": "boolean"}),
        ({"type": "boolean", "const": True}, {"type": "boolean"}),
        ({"type": "boolean", "enum": [True], "title": "T"}, {"type": "boolean", "title": "T"}),
        ({"type": ["boolean", "null"], "enum": [True, None]},
         {"anyOf": [{"type": "boolean"}, {"type": "null"}]}),
        ({"type": ["string", "null"], "enum": ["a"]},
         {"anyOf": [{"type": "string", "enum": ["a"]}]}),
    ],
)  # fmt: skip
def test_an_enum_has_strings_and_numbers(schema: Any, converted: Any) -> None:
    whole = {"type": "object", "properties": {"a": schema}}
    assert json_schema(whole, PATH)["properties"]["a"] == converted


def test_a_type_that_is_named_twice_is_one_and_does_not_multiply_what_is_below() -> None:
    """Converted for each mention, forty levels would never end."""
    schema: Any = {"type": "string"}
    for _ in range(40):
        schema = {"type": ["array", "array", "null", "array"], "items": schema}
    node = json_schema(schema, PATH)
    for _ in range(40):
        assert [option["type"] for option in node["anyOf"]] == ["array", "null"]
        node = node["anyOf"][0]["items"]
    assert node == {"type": "string"}


def test_thousands_of_definitions_whose_names_look_alike_stay_apart() -> None:
    names = [chr(0x4E00 + at) for at in range(3000)]
    converted = json_schema(
        {
            "$defs": {name: {"const": name} for name in names},
            "prefixItems": [{"$ref": f"#/$defs/{name}"} for name in names],
        },
        PATH,
    )
    found = [converted["$defs"][it["$ref"].rpartition("/")[2]] for it in converted["prefixItems"]]
    assert found == [{"enum": [name]} for name in names]


def test_a_definition_with_many_names_is_one() -> None:
    schema = {
        "anyOf": [{"$ref": f"#/prefixItems/{'0' * at}1"} for at in range(5)],
        "prefixItems": [{}, {"type": "string"}],
    }
    assert list(json_schema(schema, PATH)["$defs"].values()) == [{"type": "string"}]


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"$ref": f"#/anyOf/{'9' * 5000}", "anyOf": [{}]}, "not in it"),
        ({"type": [f"t{at}" for at in range(8)]}, "more than 7"),
        ({"prefixItems": [{}] * 10_001}, "more than 10000 schemas"),
    ],
)
def test_more_than_a_schema_can_need_is_refused_by_name(schema: Any, words: str) -> None:
    with pytest.raises(InvalidRequest, match=words) as caught:
        json_schema(schema, PATH)
    assert caught.value.param == PATH
