"""JSON as it crosses the wire: strict from callers, forgiving from vendors."""

import json
from typing import Any

import orjson

from app.errors import InvalidJSON

#: Deepest nesting of a request; the public contract needs three levels.
DEPTH_LIMIT = 64


def load_request(body: bytes) -> dict[str, Any]:
    """Parse a caller's body: one JSON object in UTF-8; of a repeated key, the last value counts.

    Raises: InvalidJSON, whose message never quotes the body.
    """
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as exc:
        raise InvalidJSON(f"The request's body is not valid JSON: {exc.msg}.") from exc
    if not isinstance(value, dict):
        raise InvalidJSON("The request's body must be a JSON object.")
    # No value is deeper than the brackets in its text: few bodies need the walk.
    if body.count(b"{") + body.count(b"[") > DEPTH_LIMIT and _deeper_than(value, DEPTH_LIMIT):
        raise InvalidJSON(f"The request's body is nested more than {DEPTH_LIMIT} levels deep.")
    return value


def _deeper_than(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True


def load_vendor(body: bytes) -> Any:
    """Parse a vendor's JSON; NaN, infinities and lone surrogates are taken, as some send them.

    Raises: ValueError.
    """
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        try:
            return json.loads(body)
        except RecursionError as exc:
            raise ValueError("nested too deep") from exc


def dump(value: Any) -> bytes:
    """Return `value` as JSON in UTF-8, on one line; NaN and infinities become null."""
    try:
        return orjson.dumps(value)
    except TypeError:  # a lone surrogate, which only the escaped form can carry
        return json.dumps(value, separators=(",", ":"), ensure_ascii=True).encode()
