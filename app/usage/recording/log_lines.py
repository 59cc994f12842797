"""Finds the messages of unrecorded events in a log: JSON or text, also with a platform's prefix.

A line counts only if the logger of these messages has written it: other lines may quote callers.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Protocol

from app.usage.recording.event_log import MARK, UnreadableMessage

#: The logger of the messages, and what it was called in the version before.
LOGGER = "app.usage.recording.fallback"
LOGGERS = (LOGGER, "app.usage.fallback")

#: The longest line that is read, in bytes, to bound memory. Those of events are much shorter.
LINE_LIMIT = 1024 * 1024

#: Members in which platforms wrap a line: Docker's and journald's JSON, Google's Cloud Logging.
WRAPPERS = ("log", "MESSAGE", "textPayload")

#: How many braces of a platform's prefix may precede a JSON line.
PREFIX_BRACES = 8

#: What a line of text begins with, after a platform's prefix.
_TEXT = re.compile(r"(?:^|\s)\d\d:\d\d:\d\d\.\d{3} [A-Z]{4,8} +")
_MARK = MARK.encode()
_DECODER = json.JSONDecoder()


class Log(Protocol):
    """A binary file."""

    def readline(self, limit: int, /) -> bytes:
        """Return a line with its end, of a longer one `limit` bytes; b"" at the end."""


class LogLines:
    """The lines of a log that have a message of an unrecorded event."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def __iter__(self) -> Iterator[tuple[int, str | UnreadableMessage]]:
        """Yield the number of each such line, and its message or why it cannot be read."""
        for number, line in enumerate(self._lines(), 1):
            if _MARK not in line:
                continue
            try:
                message = message_of(line.decode("utf-8", "replace").rstrip("\r\n"))
            except UnreadableMessage as exc:
                yield number, exc
            else:
                if message is not None:
                    yield number, message

    def _lines(self) -> Iterator[bytes]:
        """Yield the lines; of one that is too long, the beginning, or what has the mark."""
        while line := self._log.readline(LINE_LIMIT):
            rest = line
            while len(rest) == LINE_LIMIT and not rest.endswith(b"\n"):
                rest = self._log.readline(LINE_LIMIT)
                line = rest if _MARK in rest and _MARK not in line else line
            yield line


def message_of(line: str) -> str | None:
    """Return the message of an unrecorded event; None if the line is another one with the mark.

    Raises: UnreadableMessage if it is cut or damaged.
    """
    found = _json_in(line)
    if isinstance(found.get("logger"), str):
        return _message_or_none(found.get("message") if found["logger"] in LOGGERS else None)
    for name in WRAPPERS:
        if MARK in str(found.get(name)):
            return message_of(str(found[name]).rstrip("\r\n"))
    if text := _TEXT.search(line):
        return _message_or_none(line[text.end() :])
    raise UnreadableMessage("cut or damaged")


def _message_or_none(message: Any) -> str | None:
    is_message = isinstance(message, str) and message.startswith(MARK)
    return message if is_message else None


def _json_in(line: str) -> dict[str, Any]:
    """Return the JSON object that is the rest of a line after a prefix; {} if there is none."""
    at = -1
    for _ in range(PREFIX_BRACES):
        at = line.find("{", at + 1)
        if at < 0:
            break
        try:
            found, end = _DECODER.raw_decode(line, at)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and not line[end:].strip():
            return found
    return {}
