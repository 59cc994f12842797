"""Messages of unrecorded events in logs of both forms, with the prefixes of platforms."""

import io
import json
import logging
from pathlib import Path

import pytest

from app.observability.logs import JSONFormatter, TextFormatter
from app.usage.messages.event import UsageEvent
from app.usage.recording import log_lines
from app.usage.recording.event_log import MARK, UnreadableMessage
from app.usage.recording.fallback import SpoolFallback
from app.usage.recording.log_lines import LogLines, message_of
from tests.support.events import usage_event

FORMATTERS = [JSONFormatter(), TextFormatter()]


def record(message: str, logger: str = log_lines.LOGGER, **fields: object) -> logging.LogRecord:
    """A record as a logger makes it."""
    extra = {"fields": fields}
    return logging.getLogger(logger).makeRecord(
        logger, logging.ERROR, "x.py", 1, "%s", (message,), None, extra=extra
    )


def logged(event: UsageEvent, formatter: logging.Formatter) -> str:
    return formatter.format(record(f"{MARK}: {event.encode().decode()}"))


def event_in(line: str) -> UsageEvent:
    message = message_of(line)
    assert message is not None
    return UsageEvent.decode(message.removeprefix(f"{MARK}: ").encode())


def docker(line: str) -> str:
    return json.dumps({"log": f"{line}\n", "stream": "stderr", "time": "2026-11-30T11:00:00Z"})


PREFIXES = {
    "none": "",
    "heroku": "2026-11-30T11:00:00.123456+00:00 app[web.1]: ",
    "honcho": "11:00:00 web.1    | ",
    "compose": "web-1  | ",
    "journald": "Nov 30 11:00:00 host gunicorn[4711]: ",
    "kubernetes": "2026-11-30T11:00:00.123456789Z stderr F ",
    "braces": "[pod={web} labels={}] ",
}


@pytest.mark.parametrize("formatter", FORMATTERS, ids=["json", "text"])
@pytest.mark.parametrize("prefix", PREFIXES.values(), ids=list(PREFIXES))
def test_an_event_is_found_behind_a_prefix(prefix: str, formatter: logging.Formatter) -> None:
    event = usage_event(user='quo"ted \\ and {braces}')
    assert event_in(prefix + logged(event, formatter)) == event


@pytest.mark.parametrize("formatter", FORMATTERS, ids=["json", "text"])
def test_an_event_is_found_in_the_wrapping_of_a_platform(formatter: logging.Formatter) -> None:
    event = usage_event(user='quo"ted')
    line = logged(event, formatter)
    journal = json.dumps({"__CURSOR": "s=1", "MESSAGE": line, "PRIORITY": "6"})
    google = json.dumps({"insertId": "x", "textPayload": line})
    for wrapped in (docker(line), journal, google, docker(journal)):
        assert event_in(wrapped) == event


def test_the_logger_is_the_one_that_writes_the_messages(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "spool").write_text("in the way")
    SpoolFallback(tmp_path / "spool", "o").write_event("e1", usage_event().encode())
    assert log_lines.LOGGER in {it.name for it in caplog.records if MARK in it.getMessage()}


@pytest.mark.parametrize("formatter", FORMATTERS, ids=["json", "text"])
def test_what_a_caller_writes_into_the_log_is_no_event(formatter: logging.Formatter) -> None:
    """Otherwise, anybody could charge any account."""
    event = usage_event(account_id="victim")
    for forged in (
        f"{MARK}: {event.encode().decode()}",
        logged(event, JSONFormatter()),
        logged(event, TextFormatter()),
        f"x\n{logged(event, TextFormatter())}",
        f"11:00:00.000 ERROR   {MARK}, part 1 of 1 of e: QUJD",
    ):
        for line in formatter.format(record("GET / 404", "app.api", model=forged)).splitlines():
            assert message_of(line) is None
        for line in formatter.format(record(forged, "app.api")).splitlines():
            assert not (formatter is FORMATTERS[0] and message_of(line))


def test_a_line_break_in_a_message_starts_no_line_of_text() -> None:
    text = TextFormatter().format(record("odd: a\nb\r\x1b[2J\u2028c", "app.x"))
    assert len(text.splitlines()) == 1
    assert text.endswith(r"odd: a\nb\r\x1b[2J\u2028c")


@pytest.mark.parametrize("formatter", FORMATTERS, ids=["json", "text"])
@pytest.mark.parametrize("kept", [0.5, 0.99])
def test_a_cut_line_is_reported_or_fails_to_decode(
    formatter: logging.Formatter, kept: float
) -> None:
    line = logged(usage_event(), formatter)
    cut = line[: int(len(line) * kept)]
    assert MARK in cut
    try:
        message = message_of(cut)
    except UnreadableMessage:
        return
    assert message is not None
    with pytest.raises(ValueError, match="not JSON"):
        UsageEvent.decode(message.removeprefix(f"{MARK}: ").encode())


def test_lines_are_numbered_and_others_are_left_out() -> None:
    events = [usage_event() for _ in range(2)]
    lines = [
        "starting",
        logged(events[0], JSONFormatter()),
        "",
        f"half of a line: {MARK}",
        logged(events[1], TextFormatter()) + "\r",
        JSONFormatter().format(record(f"I quote: {MARK}", "app.other")),
    ]
    log = io.BytesIO("\n".join(lines).encode() + b"\n\xff\xfe broken\n")
    found = list(LogLines(log))
    assert [number for number, _ in found] == [2, 4, 5]
    assert isinstance(found[1][1], UnreadableMessage)
    for event, (_, message) in zip(events, (found[0], found[2]), strict=True):
        assert isinstance(message, str)
        assert UsageEvent.decode(message.removeprefix(f"{MARK}: ").encode()) == event


def test_a_line_without_an_end_takes_no_more_memory_than_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(log_lines, "LINE_LIMIT", 4096)
    event = usage_event()
    long = b"x" * 50_000 + f" {MARK} ".encode() + b"y" * 50_000 + b"\n"
    log = io.BytesIO(long + logged(event, JSONFormatter()).encode())
    found = list(LogLines(log))
    assert [number for number, _ in found][-1] == 2
    assert isinstance(found[-1][1], str)
    assert all(isinstance(message, UnreadableMessage) for _, message in found[:-1])
