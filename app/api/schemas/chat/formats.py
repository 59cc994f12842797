"""The format of a reply: `response_format`."""

from collections.abc import Mapping
from typing import Any

from app.api.schemas.chat.checks import (
    identifier,
    mapping,
    optional_flag,
    optional_text,
    text,
    without_nulls,
    wrong_type,
)
from app.vocabulary.chat.request import ResponseFormat


def without_null_members(value: Any) -> Any:
    """Return a format as it is sent: vendors reject nulls that the contract allows."""
    if not isinstance(value, Mapping):
        return value
    form = value.get("json_schema")
    inner = without_nulls(form) if isinstance(form, dict) else form
    return without_nulls(value if inner is form else {**value, "json_schema": inner})


def read_response_format(value: Any) -> ResponseFormat:
    """Return the format; one of an unknown type is kept: its vendor may know it.

    Raises: InvalidRequest, with the path of the value.
    """
    path = "response_format"
    if type(value) is not dict:
        raise wrong_type(path, "an object")
    of_type = text(value, "type", path)
    if of_type != "json_schema":
        return ResponseFormat(of_type)
    form, at = mapping(value, of_type, path), f"{path}.{of_type}"
    schema = None if form.get("schema") is None else mapping(form, "schema", at)
    return ResponseFormat(
        of_type,
        schema,
        identifier(form, "name", at),
        optional_text(form, "description", at),
        optional_flag(form, "strict", at),
    )
