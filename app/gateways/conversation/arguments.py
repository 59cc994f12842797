"""A call's arguments as an object, for formats that have no text there."""

import json
import math
from typing import Any, NoReturn

from app.formats.json_size import DEPTH_LIMIT, too_deep
from app.formats.strict_json import DIGITS_LIMIT
from app.vocabulary.chat.message import Message
from app.vocabulary.chat.tools import ToolCall
from app.vocabulary.errors import InvalidRequest


def arguments_object(message: Message, position: int, call: ToolCall) -> dict[str, Any]:
    """Return the arguments of a message's call; a blank text and null mean none.

    Keys keep their order and numbers their value, whatever their size.
    Raises: InvalidRequest if they are not a JSON object, or one that is nested too deep.
    """
    if call.arguments.strip() in ("", "null"):
        return {}
    path = f"{message.path}.tool_calls[{position}].function.arguments"
    if too_deep(call.arguments.encode("utf-8", "surrogatepass")):
        raise InvalidRequest(f"`{path}` is nested more than {DEPTH_LIMIT} levels deep.", param=path)
    try:
        value = json.loads(
            call.arguments, parse_constant=_no_number, parse_float=_finite, parse_int=_integer
        )
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise InvalidRequest(f"`{path}` must be the text of a JSON object.", param=path)
    return value


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _integer(digits: str) -> int:
    if len(digits) > DIGITS_LIMIT:  # its conversion takes the square of their number
        raise ValueError("too long a number")
    return int(digits)


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("too large a number")
    return number
