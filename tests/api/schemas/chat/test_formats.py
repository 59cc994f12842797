"""The format of a reply."""

from typing import Any

import pytest

from app.vocabulary.chat.request import ResponseFormat
from tests.api.schemas.chat.loading import load, problem

MISSING, TYPE, VALUE = "missing_required_parameter", "invalid_type", "invalid_value"
SCHEMA = {"type": "object", "properties": {"z": {}, "a": {}}}
FORM = {"name": "answer", "description": "d", "schema": SCHEMA, "strict": True}


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ({"type": "text"}, ResponseFormat("text")),
        ({"type": "json_object"}, ResponseFormat("json_object")),
        (
            {"type": "json_schema", "json_schema": FORM},
            ResponseFormat("json_schema", SCHEMA, "answer", "d", strict=True),
        ),
        (
            {"type": "json_schema", "json_schema": {"name": "a", "schema": None, "strict": None}},
            ResponseFormat("json_schema", None, "a"),
        ),
        ({"type": "grammar", "grammar": "root ::= x"}, ResponseFormat("grammar")),
    ],
)
def test_a_format_is_read_and_kept_as_it_was_written_without_nulls(
    value: Any, read: ResponseFormat
) -> None:
    request = load(response_format=value)
    assert request.response_format == read
    form = value.get("json_schema", {})
    kept = {name: inner for name, inner in form.items() if inner is not None}
    assert request.options["response_format"] == {
        **value,
        **({"json_schema": kept} if kept else {}),
    }


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ("json", ("", TYPE)),
        ({}, (".type", MISSING)),
        ({"type": 1}, (".type", TYPE)),
        ({"type": "json_schema"}, (".json_schema", MISSING)),
        (
            {"type": "json_schema", "json_schema": {"schema": SCHEMA}},
            (".json_schema.name", MISSING),
        ),
        ({"type": "json_schema", "json_schema": {"name": "a b"}}, (".json_schema.name", VALUE)),
        (
            {"type": "json_schema", "json_schema": {"name": "a", "schema": "{}"}},
            (".json_schema.schema", TYPE),
        ),
        (
            {"type": "json_schema", "json_schema": {"name": "a", "strict": "yes"}},
            (".json_schema.strict", TYPE),
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_path(value: Any, wrong: tuple[str, str]) -> None:
    path, code = problem(response_format=value)
    assert (path.removeprefix("response_format"), code) == wrong
