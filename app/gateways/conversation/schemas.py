"""Callers' JSON Schemas for vendors that hold a model to a part of JSON Schema: Anthropic, Bedrock.

Source: Anthropic's and Bedrock's references of structured outputs, and what Anthropic's own client
does with a schema before it sends it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from app.gateways.conversation.omissions import Omissions

#: Zod writes these bounds into the schema of every integer. They say that JavaScript can hold it.
SAFE = 2**53 - 1
_BOUNDS = {"minimum": -SAFE, "maximum": SAFE}

#: Keywords whose value is not a schema, nor has schemas inside.
_VALUES = frozenset({"const", "default", "enum", "examples"})


def without_safe_bounds(node: Any) -> Any:
    """Return a schema whose integers have no bounds that only say what JavaScript can hold.

    All other keywords stay, in their order.
    """
    if isinstance(node, list):
        return [without_safe_bounds(inner) for inner in node]
    if not isinstance(node, dict):
        return node
    left_out = _BOUNDS.items() if node.get("type") in ("integer", ["integer", "null"]) else ()
    return {
        name: value if name in _VALUES else without_safe_bounds(value)
        for name, value in node.items()
        if (name, value) not in left_out
    }


#: Keywords that bound a value. The vendors reject them; clients that send them check them, too.
BOUNDS = frozenset(
    {
        "exclusiveMaximum",
        "exclusiveMinimum",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minLength",
        "minProperties",
        "minimum",
        "multipleOf",
        "uniqueItems",
    }
)
#: The formats of strings that the vendors know.
FORMATS = frozenset(
    {
        "date",
        "date-time",
        "duration",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "time",
        "uri",
        "uuid",
    }
)
_CLOSED = "additionalProperties"
_NAMED = frozenset({"properties", "$defs", "definitions"})


def strict_schema(schema: Mapping[str, Any], omissions: Omissions) -> dict[str, Any]:
    """Return a schema as the vendors hold a model to it; what it allows is in the caller's, too.

    An object that does not say whether it has more properties has none, and `oneOf` is `anyOf`.
    Bounds are left out, and `omissions` names them. Everything else stays, in its order: what the
    vendor rejects beyond that is for the vendor to say.
    """
    narrowed: dict[str, Any] = _strict(without_safe_bounds(schema), omissions, is_closed=True)
    return narrowed


def _strict(node: Any, omissions: Omissions, *, is_closed: bool) -> Any:
    if isinstance(node, list):
        return [_strict(inner, omissions, is_closed=is_closed) for inner in node]
    if not isinstance(node, dict):
        return node
    kept = dict(_kept(node, omissions))
    if is_closed and _is_object(node):
        kept.setdefault(_CLOSED, False)
    return kept


def _kept(node: Mapping[str, Any], omissions: Omissions) -> Iterator[tuple[str, Any]]:
    for name, value in node.items():
        if _is_bound(name, value):
            omissions.leave_out_hint(name)
        elif name in _VALUES:
            yield name, value
        elif name in _NAMED and isinstance(value, dict):
            yield (
                name,
                {it: _strict(inner, omissions, is_closed=True) for it, inner in value.items()},
            )
        elif name == "oneOf" and "anyOf" not in node:
            yield "anyOf", _strict(value, omissions, is_closed=True)
        else:  # of several schemas that all hold, none may be closed to the others' properties
            is_closed = not (name == "allOf" and isinstance(value, list) and len(value) > 1)
            yield name, _strict(value, omissions, is_closed=is_closed)


def _is_bound(name: str, value: Any) -> bool:
    if name == "minItems":
        return value not in (0, 1)
    if name == "format":
        return not isinstance(value, str) or value not in FORMATS
    return name in BOUNDS


def _is_object(node: Mapping[str, Any]) -> bool:
    of_type = node.get("type")
    types = of_type if isinstance(of_type, list) else [of_type]
    return "object" in types or (of_type is None and "properties" in node)
