"""Texts and types of the description."""

import pytest

from app.api.docs_text import kind, linked, prose


def test_prose_marks_code_and_escapes_the_rest() -> None:
    assert prose("use `a<b` & <i>") == "use <code>a&lt;b</code> &amp; &lt;i&gt;"


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "string"}, "string"),
        ({"type": ["integer", "null"], "minimum": 0, "maximum": 5}, "integer or null, 0 to 5"),
        ({"type": "integer", "minimum": 0}, "integer, at least 0"),
        ({"type": "integer", "minimum": -(2**63), "maximum": 2**63 - 1}, "integer, 64 bits"),
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


def test_each_object_in_a_name_is_a_link() -> None:
    assert linked("[Choice] or <b> or null", {"Choice"}) == (
        '[<a href="#Choice">Choice</a>] or &lt;b&gt; or null'
    )
