"""The formats of a log line."""

import io
import json
import logging
import sys

import pytest

from app.observability.logs import JSONFormatter, TextFormatter, configure, formatter


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


class ListHandler(logging.Handler):
    """Appends each record to a list."""

    def __init__(self, records: list[logging.LogRecord]) -> None:
        super().__init__()
        self._records = records

    def emit(self, record: logging.LogRecord) -> None:
        self._records.append(record)


def record(message: str = "GET / 200", **extra: object) -> logging.LogRecord:
    """A record as a logger makes it."""
    return logging.getLogger("app.x").makeRecord(
        "app.x", logging.INFO, "x.py", 1, message, (), None, extra=extra
    )


def test_a_line_is_one_json_object_with_its_fields() -> None:
    """Line breaks and quotes in values do not break it."""
    line = JSONFormatter().format(record(fields={"model": 'a\n"b"', "status": 200}))
    assert "\n" not in line
    parsed = json.loads(line)
    assert parsed["message"] == "GET / 200"
    assert parsed["level"] == "info"
    assert parsed["model"] == 'a\n"b"'
    assert parsed["status"] == 200
    assert parsed["time"].endswith("Z")


def test_values_that_json_cannot_represent_are_written_as_text() -> None:
    """A log line is never lost because of its values."""
    odd = record(fields={"lone": "\ud800", "big": 2**80, "what": object()})
    assert json.loads(JSONFormatter().format(odd))["big"] == 2**80
    assert "\ud800" not in TextFormatter().format(odd)


def test_a_traceback_is_part_of_the_object() -> None:
    """One error is one line."""
    try:
        int("no")
    except ValueError:
        failed = record()
        failed.exc_info = sys.exc_info()
    assert "ValueError: invalid literal" in json.loads(JSONFormatter().format(failed))["exception"]
    assert "ValueError: invalid literal" in TextFormatter().format(failed)


def test_text_is_readable_and_values_with_blanks_are_quoted() -> None:
    line = TextFormatter().format(record(fields={"account_id": "acme", "model": "a b"}))
    assert line.endswith('INFO    GET / 200  account_id=acme model="a b"')


@pytest.mark.parametrize(
    ("name", "stream", "kind"),
    [
        (None, Terminal(), TextFormatter),
        (None, io.StringIO(), JSONFormatter),
        ("json", Terminal(), JSONFormatter),
        ("text", io.StringIO(), TextFormatter),
    ],
)
def test_the_form_follows_the_stream_unless_it_is_set(
    name: str | None, stream: io.StringIO, kind: type[logging.Formatter]
) -> None:
    """Platforms read pipes."""
    assert type(formatter(name, stream)) is kind


def test_all_loggers_of_the_process_write_in_one_form(capfd: pytest.CaptureFixture[str]) -> None:
    """Including those of libraries, from WARNING on."""
    root, app = logging.getLogger(), logging.getLogger("app")
    handlers, level = root.handlers, app.level
    try:
        configure("json")
        logging.getLogger("app.api").info("ours")
        logging.getLogger("library").warning("theirs")
        logging.getLogger("library").info("not theirs")
    finally:
        root.handlers = handlers
        app.setLevel(level)
    lines = capfd.readouterr().err.splitlines()
    assert [json.loads(line)["message"] for line in lines] == ["ours", "theirs"]


def test_no_line_looks_for_its_caller() -> None:
    """Nothing prints the caller, and finding it costs time."""
    root, app = logging.getLogger(), logging.getLogger("app")
    handlers, level = root.handlers, app.level
    records: list[logging.LogRecord] = []
    try:
        configure("json")
        root.handlers = [ListHandler(records)]
        app.info("ours")
    finally:
        root.handlers = handlers
        app.setLevel(level)
    assert [it.pathname for it in records] == ["(unknown file)"]
