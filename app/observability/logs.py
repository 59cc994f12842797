"""The log of a process on stderr: JSON lines for machines, or text for people.

A record's `fields` (`log.info("...", extra={"fields": {...}})`) become fields of the line. Does not
depend on their meaning.
"""

import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, TextIO

import orjson

#: gunicorn's logger, which has its own handlers.
SERVER_LOGGER = "gunicorn.error"


class JSONFormatter(logging.Formatter):
    """One JSON object per record: time (RFC 3339, UTC), level, logger, message, fields."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        try:
            return orjson.dumps(line, default=str).decode()
        except TypeError:  # a lone surrogate, or an integer beyond 64 bits
            return json.dumps(line, default=str)


class TextFormatter(logging.Formatter):
    """One line per record for a terminal, followed by the traceback if there is one.

    Line breaks in a message are escaped: what follows one would look like another record.
    """

    def format(self, record: logging.LogRecord) -> str:
        fields = " ".join(f"{name}={_quoted(value)}" for name, value in _fields(record).items())
        message = record.getMessage()
        message = message if message.isprintable() else "".join(map(_escaped, message))
        head = f"{_time(record)[11:23]} {record.levelname:<7} {message}"
        line = f"{head}  {fields}" if fields else head
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def formatter(name: str | None, stream: TextIO | None = None) -> logging.Formatter:
    """Return the formatter `text` or `json`; None means text on a terminal, otherwise JSON.

    `stream` defaults to stderr.
    """
    if name is None:
        name = "text" if (stream or sys.stderr).isatty() else "json"
    return TextFormatter() if name == "text" else JSONFormatter()


def configure(name: str | None) -> None:
    """Make all loggers of this process write to stderr with one formatter."""
    # Faster: do not collect what no formatter here writes. See the logging HOWTO, "Optimization".
    logging._srcfile = None
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    handler = logging.StreamHandler()
    handler.setFormatter(formatter(name))
    root = logging.getLogger()
    root.handlers = [handler]
    logging.getLogger("app").setLevel(logging.INFO)
    for own in logging.getLogger(SERVER_LOGGER).handlers:
        own.setFormatter(handler.formatter)


def _time(record: logging.LogRecord) -> str:
    second, millisecond = divmod(int(record.created * 1000), 1000)
    return f"{_second(second)}.{millisecond:03d}Z"


@lru_cache(maxsize=2)
def _second(at_s: int) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _fields(record: logging.LogRecord) -> Mapping[str, Any]:
    fields: Mapping[str, Any] = getattr(record, "fields", {})
    return fields


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode()


def _quoted(value: Any) -> str:
    text = str(value)
    plain = text.isprintable() and " " not in text and '"' not in text
    return text if plain else json.dumps(text)
