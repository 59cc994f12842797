"""Texts and types of the API's description as HTML and as short names."""

import re
from collections.abc import Container

from markupsafe import Markup, escape

_CODE = re.compile("`([^`]+)`")
_WORD = re.compile(r"\w+")
_INT64 = (-(2**63), 2**63 - 1)


def prose(text: str) -> Markup:
    """Return text as HTML, with its `code` marked up."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped before


def linked(text: str, names: Container[str]) -> Markup:
    """Return a short name as HTML; each object of the page that it names is a link to it."""

    def link(word: re.Match[str]) -> str:
        return f'<a href="#{word[0]}">{word[0]}</a>' if word[0] in names else word[0]

    return Markup(_WORD.sub(link, str(escape(text))))  # noqa: S704 - escaped before


def kind(schema: dict[str, object]) -> str:
    """Return a short name for the values that a JSON Schema accepts: `string or [string]`."""
    found = list(dict.fromkeys(_kinds(schema)))
    return " or ".join([it for it in found if it != "any"] or ["any"])


def _kinds(schema: dict[str, object]) -> list[str]:
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return [reference.rpartition("/")[2]]
    options = schema.get("oneOf") or schema.get("anyOf")
    if isinstance(options, list) and "type" not in schema:
        return [name for option in options for name in _kinds(option)]
    types = schema.get("type", "any")
    names = [str(name) for name in (types if isinstance(types, list) else [types])]
    inner = schema.get("items")
    if "array" in names and isinstance(inner, dict):
        names[names.index("array")] = f"[{kind(inner)}]"
    bounds = _bounds(schema)
    return [" or ".join(names) + bounds] if bounds else names


def _bounds(schema: dict[str, object]) -> str:
    low, high, values = schema.get("minimum"), schema.get("maximum"), schema.get("enum")
    if isinstance(values, list):
        return ": " + ", ".join(str(value) for value in values if value is not None)
    if (low, high) == _INT64:
        return ", 64 bits"
    if low is not None and high is not None:
        return f", {low} to {high}"
    return f", at least {low}" if low is not None else ""
