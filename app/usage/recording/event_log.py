"""The log messages of an event that neither Redis nor the spool has taken: its only copy.

Writes the messages, and reads events from them. A message is short and ASCII, because platforms
split or cut long lines, and terminals replace what they cannot show. An event that does not fit is
logged in parts. Does not depend on how a log is formatted.
"""

import base64
import binascii
import json
import re
import zlib
from collections import OrderedDict
from collections.abc import Iterator

import orjson

#: What each message begins with.
MARK = "usage event not recorded yet"

#: The most characters of an event in one message. A JSON log escapes some of them, so that the line
#: takes up to twice as many; Heroku, which cuts lines the soonest, does so at 10,000 bytes.
PART_CHARS = 4_000

#: The most events of which some parts are remembered while others are missing, the most parts of an
#: event, and its most bytes: bounds of the memory that a damaged log can take.
OPEN_LIMIT, PARTS_LIMIT, BYTES_LIMIT = 1_000, 1_000, 64 * 1024 * 1024

_WHOLE = re.compile(rf"{MARK}: (\{{.*)", re.DOTALL)
_PART = re.compile(
    rf"{MARK}, part (\d{{1,6}}) of (\d{{1,6}}) of (\S{{1,256}}): ([A-Za-z0-9+/=]+)\Z"
)


class UnreadableMessage(ValueError):
    """A message of an event that is cut or damaged."""


def event_messages(event_id: str, encoded: bytes) -> Iterator[str]:
    """Yield the messages that together hold an event."""
    text = encoded.decode("ascii") if encoded.isascii() else json.dumps(orjson.loads(encoded))
    if len(text) <= PART_CHARS:
        yield f"{MARK}: {text}"
        return
    packed = base64.b64encode(zlib.compress(encoded)).decode()
    parts = [packed[at : at + PART_CHARS] for at in range(0, len(packed), PART_CHARS)]
    for number, part in enumerate(parts, 1):
        yield f"{MARK}, part {number} of {len(parts)} of {event_id}: {part}"


class EventMessages:
    """Reads events from messages, some of which are parts of an event, in any order."""

    def __init__(self) -> None:
        #: Event id -> the line of the first part that was found, and the parts by number.
        self._open: OrderedDict[str, tuple[int, dict[int, str]]] = OrderedDict()
        #: The last events that were complete: parts of another copy are no loss.
        self._complete: OrderedDict[str, None] = OrderedDict()

    def read(self, message: str, line: int) -> bytes | None:
        """Return the event that a message completes; None if parts are still missing.

        Raises: UnreadableMessage.
        """
        if whole := _WHOLE.match(message):
            return whole[1].encode()
        part = _PART.match(message)
        if part is None or not 1 <= int(part[1]) <= int(part[2]) <= PARTS_LIMIT:
            raise UnreadableMessage("cut or damaged")
        event_id, count = part[3], int(part[2])
        _, found = self._open.setdefault(event_id, (line, {}))
        found[int(part[1])] = part[4]
        if len(found) < count:
            return None
        del self._open[event_id]
        event = _unpacked([found.get(at, "") for at in range(1, count + 1)])
        self._complete[event_id] = None
        if len(self._complete) > OPEN_LIMIT:
            self._complete.popitem(last=False)
        return event

    def incomplete(self, keep: int = 0) -> Iterator[int]:
        """Forget all but `keep` of the events that lack a part; yield the line of each."""
        while len(self._open) > keep:
            event_id, (line, _) = self._open.popitem(last=False)
            if event_id not in self._complete:
                yield line


def _unpacked(parts: list[str]) -> bytes:
    try:
        packed = base64.b64decode("".join(parts), validate=True)
        unpacking = zlib.decompressobj()
        event = unpacking.decompress(packed, BYTES_LIMIT)
    except (binascii.Error, zlib.error) as exc:
        raise UnreadableMessage("its parts do not fit together") from exc
    if not unpacking.eof:
        raise UnreadableMessage("its parts do not fit together")
    return event
