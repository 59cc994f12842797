"""The texts beside the fields of the description."""

from typing import Any

from app.api.openapi.field_texts import TEXTS, add_texts, fields_in


def test_a_text_of_one_field_goes_before_that_of_its_name() -> None:
    schema: dict[str, Any] = {
        "properties": {
            "usage": {"type": "object"},
            "choices": {"items": {"properties": {"type": {}, "unheard_of": {}}}},
            "model": {"description": "Its own."},
        }
    }
    add_texts(schema, "Completion")
    found = {path: field.get("description") for path, field in fields_in(schema, "Completion")}
    assert found == {
        "Completion.usage": TEXTS["Completion.usage"],
        "Completion.choices": TEXTS["choices"],
        "Completion.choices.type": TEXTS["type"],
        "Completion.choices.unheard_of": None,
        "Completion.model": "Its own.",
    }


def test_alternatives_are_looked_into() -> None:
    schema: dict[str, Any] = {"anyOf": [{"oneOf": [{"properties": {"url": {}}}]}]}
    add_texts(schema, "image_url")
    assert [path for path, _ in fields_in(schema, "image_url")] == ["image_url.url"]
