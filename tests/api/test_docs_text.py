"""Texts and types of the description."""

import pytest

from app.api.docs_text import kind, prose


def test_prose_marks_code_and_escapes_the_rest() -> None:
    assert prose("use `a<b` & <i>") == "use <code>a&lt;b</code> &amp; &lt;i&gt;"


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "string"}, "string"),
        ({"type": ["integer", "null"], "minimum": 0, "maximum": 5}, "integer or null, 0 to 5"),
        ({"type": "integer", "minimum": 0}, "integer, at least 0"),
        ({"type": "array", "items": {"type": "string"}}, "[string]"),
        ({"$ref": "#/components/schemas/Completion"}, "Completion"),
        ({"oneOf": [{"type": "string"}, {"type": "null"}]}, "string or null"),
        ({"type": "string", "enum": ["json", "csv", None]}, "string: json, csv"),
        ({}, "any"),
        ({"oneOf": [{"type": ["string", "null"]}, {"type": "string"}, {}]}, "string or null"),
        ({"type": "object", "anyOf": [{"required": ["a"]}]}, "object"),
    ],
)
def test_a_schema_has_a_short_name(schema: dict[str, object], text: str) -> None:
    assert kind(schema) == text
