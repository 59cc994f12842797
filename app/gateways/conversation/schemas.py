"""Callers' JSON Schemas for vendors that reject bounds of numbers."""

from typing import Any

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
