"""JSON in requests and responses: strict for callers', lenient for vendors'."""

import json
import math
import threading
from typing import Any

import orjson

from app.formats.json_size import (
    DEPTH_LIMIT,
    SMALL_BYTES,
    check_response,
    check_size,
    too_deep,
)
from app.runtime.turns import give_turn
from app.vocabulary.errors import InvalidJSON

#: Held while a large body is parsed, up to 40 ms: others get a turn between two of them.
_LARGE = threading.Lock()


def load_request(body: bytes) -> dict[str, Any]:
    """Parse a caller's body: one JSON object in UTF-8.

    If a key is repeated, its last value counts. An integer beyond 64 bits becomes a float.
    Raises: InvalidJSON, whose message never quotes the body.
    """
    if len(body) > SMALL_BYTES:
        check_size(body)
        with _LARGE:
            value = _parsed(body)
            give_turn()
    else:
        value = _parsed(body)
    if not isinstance(value, dict):
        raise InvalidJSON("The request's body must be a JSON object.")
    if len(body) <= SMALL_BYTES and too_deep(body):
        raise InvalidJSON(f"The request's body is nested more than {DEPTH_LIMIT} levels deep.")
    return value


def _parsed(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as exc:
        raise InvalidJSON(f"The request's body is not valid JSON: {exc.msg}.") from exc


def load_vendor(body: bytes) -> Any:
    """Parse a vendor's JSON; NaN and infinities, which some vendors send, become null.

    Half characters are kept, as lone surrogates or surrogate escapes: the other half may be in the
    next chunk.
    Raises: ValueError, also if it holds so many values that they would take too much memory.
    """
    check_response(body)
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError:
        try:
            text = body.decode("utf-8-sig", "surrogateescape")
            value = json.loads(
                text, parse_constant=lambda _: None, parse_float=_finite, parse_int=_integer
            )
        except RecursionError as exc:
            raise ValueError("nested too deep") from exc
    if too_deep(body):
        raise ValueError("nested too deep")
    return value


def _finite(digits: str) -> float | None:
    number = float(digits)
    return number if math.isfinite(number) else None


def _integer(digits: str) -> int | None:
    return int(digits) if len(digits) <= DIGITS_LIMIT else None


#: Longest integer that is parsed, in digits; longer ones become null. Python's own limit is 4300.
DIGITS_LIMIT = 400


def dump(value: Any) -> bytes:
    """Encode a value as JSON in UTF-8 on one line; half a character becomes U+FFFD."""
    try:
        return orjson.dumps(value)
    except TypeError:  # a lone surrogate, or a number that orjson cannot hold
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
