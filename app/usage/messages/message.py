"""The types of fields on the wire, and strict decoding of the messages made of them.

The messages are `UsageEvent` and `OpenRecord`. No I/O.
"""

import re
from typing import Annotated, TypeVar

import orjson
from msgspec import DecodeError, Meta, Struct, ValidationError
from msgspec.json import Decoder

from app.vocabulary.text import SENTENCE_LIMIT, TEXT_LIMIT

#: The largest number stored (as Unix milliseconds, the year 10889). Sums over 32,768 of them still
#: fit a signed 64-bit column, so that an absurd count of a vendor cannot break a rollup.
NUMBER_LIMIT = 2**48

#: A whole number from 0 to NUMBER_LIMIT.
Number = Annotated[int, Meta(ge=0, le=NUMBER_LIMIT)]
#: Unix milliseconds before 9999-12-30: a later time cannot be shown in every time zone. A message
#: of a clock that is so wrong becomes a dead letter, not an entry that no list can show.
Moment = Annotated[int, Meta(ge=0, lt=253_402_128_000_000)]
#: Any text of at most TEXT_LIMIT characters without NUL, which PostgreSQL cannot store.
Text = Annotated[str, Meta(max_length=TEXT_LIMIT)]
#: A longer text, of at most SENTENCE_LIMIT characters.
Sentence = Annotated[str, Meta(max_length=SENTENCE_LIMIT)]
#: One of several words; a later version may write one that this version does not know.
Word = Annotated[str, Meta(pattern=r"^[a-z][a-z_]{0,63}\Z")]

M = TypeVar("M", bound=Struct)

#: NUL in JSON, or a backslash followed by "u0000".
_NUL = b"\\u0000"
_MISSING = re.compile(r"missing required field `(\w+)`$")
_PLACE = re.compile(r"at `\$\.(\w+)")


class UndecodableMessage(ValueError):
    """Bytes that are not the expected message; the error names the field, and quotes nothing."""


def decode_message(decoder: Decoder[M], raw: bytes) -> M:
    """Return the message in `raw`; fields that this version does not know are ignored.

    Raises: UndecodableMessage.
    """
    try:
        message = decoder.decode(raw)
    except ValidationError as exc:
        raise UndecodableMessage(_problem(raw, str(exc))) from exc
    except (DecodeError, RecursionError) as exc:
        raise UndecodableMessage("not JSON") from exc
    if _NUL in raw:
        _check_nul(message)
    return message


def json_object(raw: bytes) -> dict[str, object]:
    """Return the JSON object in `raw`, whatever its fields.

    Raises: UndecodableMessage.
    """
    try:
        values = orjson.loads(raw)
    except orjson.JSONDecodeError as exc:
        raise UndecodableMessage("not JSON") from exc
    if not isinstance(values, dict):
        raise UndecodableMessage("not a JSON object")
    return values


def _problem(raw: bytes, error: str) -> str:
    """Return what is wrong, from msgspec's message."""
    json_object(raw)  # msgspec reports a wrong field before it sees that the rest is not JSON
    if place := _PLACE.search(error):
        return _wrong(place[1])
    missing = _MISSING.search(error)
    return f"{missing[1]} is missing" if missing else "not a JSON object"


def _wrong(name: str) -> str:
    return f"{name} is of a wrong type or out of range"


def _check_nul(message: Struct) -> None:
    for name in message.__struct_fields__:
        value = getattr(message, name)
        if isinstance(value, str) and "\0" in value:
            raise UndecodableMessage(_wrong(name))
        for part in value if isinstance(value, tuple) else ():
            try:
                _check_nul(part)
            except UndecodableMessage as exc:
                raise UndecodableMessage(_wrong(name)) from exc
