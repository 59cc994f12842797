"""JSON as it crosses the wire: strict from callers, forgiving from vendors."""

import json
import math
import threading
from typing import Any

import orjson

from app.formats.json_size import DEPTH_LIMIT, SMALL_BYTES, check_size, too_deep
from app.runtime.turns import give_turn
from app.vocabulary.errors import InvalidJSON

#: Held while a large body is parsed, which takes up to 40 ms: between two of them others go on.
_LARGE = threading.Lock()


def load_request(body: bytes) -> dict[str, Any]:
    """Parse a caller's body: one JSON object in UTF-8; of a repeated key, the last value counts.

    An integer beyond 64 bits becomes a float.
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
    """Parse a vendor's JSON, taking what some send: NaN and infinities, as null; half characters.

    A lone surrogate stays one, and bytes that are no UTF-8 become surrogate escapes: the other
    half may be in the next chunk.
    Raises: ValueError.
    """
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


#: Longest integer that is read as one, in digits: Python refuses to read far longer ones at all.
DIGITS_LIMIT = 400


def dump(value: Any) -> bytes:
    """Return what the loaders above gave, or something made of it, as JSON in UTF-8 on one line.

    Half a character becomes U+FFFD.
    """
    try:
        return orjson.dumps(value)
    except TypeError:  # a lone surrogate, or a number that orjson cannot hold
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
