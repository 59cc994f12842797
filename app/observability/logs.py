"""What the web process writes to stderr: JSON lines for machines, or text for a person.

A record's `fields` (`log.info("...", extra={"fields": {...}})`) are the line's own. Nothing here
knows what they say.
"""

import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, TextIO

import orjson

#: gunicorn's own loggers, which have handlers of their own.
SERVER_LOGGER = "gunicorn.error"


class JSONFormatter(logging.Formatter):
    """One JSON object a record: time (RFC 3339, UTC), level, logger, message, then its fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
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
        except TypeError:  # half a surrogate pair, or a number over 64 bits
            return json.dumps(line, default=str)


class TextFormatter(logging.Formatter):
    """One line a record, for a terminal; a traceback follows."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        fields = " ".join(f"{name}={_shown(value)}" for name, value in _fields(record).items())
        head = f"{_time(record)[11:23]} {record.levelname:<7} {record.getMessage()}"
        line = f"{head}  {fields}" if fields else head
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def formatter(name: str | None, stream: TextIO | None = None) -> logging.Formatter:
    """Return the formatter for a stream, stderr by default; None: text where a person looks."""
    if name is None:
        name = "text" if (stream or sys.stderr).isatty() else "json"
    return TextFormatter() if name == "text" else JSONFormatter()


def configure(name: str | None) -> None:
    """Have all of this process' loggers write to stderr, in one form."""
    # What no line of ours shows need not be found out for each: see the logging HOWTO.
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


def _shown(value: Any) -> str:
    text = str(value)
    plain = text.isprintable() and " " not in text and '"' not in text
    return text if plain else json.dumps(text)
