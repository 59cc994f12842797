"""`tollgate reconcile --from-log`: posts events that only a web process's log has."""

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import click

from app.cli.ledger import open_ledger
from app.cli.tables import Cell, format_table, on_terminal
from app.ledger.log_posting import LoggedEvent, post_logged
from app.ledger.posting import Ledger
from app.pricing.price_book import load_prices
from app.settings import prices_file
from app.usage.messages.event import UsageEvent
from app.usage.messages.message import UndecodableMessage
from app.usage.recording.event_log import OPEN_LIMIT, EventMessages, UnreadableMessage
from app.usage.recording.log_lines import Log, LogLines

#: Events in one transaction.
BATCH_SIZE = 500

#: Bytes after which the progress bar moves.
REPORT_BYTES = 1024 * 1024

#: The most lines that are named on stderr and in JSON; all are counted.
SHOWN, LISTED = 20, 1000


@dataclass(slots=True)
class Outcome:
    """What became of the events of a log; `problems` are the first lines that were not posted."""

    found: int = 0
    posted: int = 0
    known: int = 0
    refused: int = 0
    unreadable: int = 0
    problems: list[tuple[int, str]] = field(default_factory=list)

    def add_unreadable(self, line: int, reason: str) -> None:
        """Count an event that cannot be read."""
        self.unreadable += 1
        self._list(line, reason)

    def add_refused(self, line: int, reason: str) -> None:
        """Count an event that the ledger does not take."""
        self.refused += 1
        self._list(line, reason)

    def _list(self, line: int, reason: str) -> None:
        if len(self.problems) < LISTED:
            self.problems.append((line, reason))


def reconcile_log(path: Path, as_json: bool) -> None:
    """Post the events of a log that the ledger lacks; exit with 1 if some cannot be posted.

    `-` reads stdin.
    """
    outcome = Outcome()
    with _opened(path) as log, open_ledger() as engine:
        ledger = Ledger(engine, load_prices(prices_file()))
        batch: list[LoggedEvent] = []
        for logged in _events(log, outcome):
            batch.append(logged)
            if len(batch) >= BATCH_SIZE:
                _post(ledger, batch, outcome)
                batch.clear()
        _post(ledger, batch, outcome)
    outcome.problems.sort()
    _print(outcome, as_json)
    if outcome.unreadable or outcome.refused:
        sys.exit(1)


def _events(log: Log, outcome: Outcome) -> Iterator[LoggedEvent]:
    """Yield the events that can be read, and count the others."""
    messages = EventMessages()
    for line, message in LogLines(log):
        try:
            if isinstance(message, UnreadableMessage):
                raise message
            encoded = messages.read(message, line)
            if encoded is not None:
                event = UsageEvent.decode(encoded)
                outcome.found += 1
                yield LoggedEvent(line, event)
        except (UnreadableMessage, UndecodableMessage) as exc:
            outcome.add_unreadable(line, str(exc))
        for first in messages.incomplete(keep=OPEN_LIMIT):
            outcome.add_unreadable(first, "a part is missing")
    for first in messages.incomplete():
        outcome.add_unreadable(first, "a part is missing")


def _post(ledger: Ledger, batch: list[LoggedEvent], outcome: Outcome) -> None:
    report = post_logged(ledger, batch)
    outcome.posted += report.posted
    outcome.known += report.known
    for line, reason in report.refused:
        outcome.add_refused(line, reason)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Log]:
    """Yield the log, whose reading moves a progress bar if its length is known."""
    if str(path) == "-":
        yield sys.stdin.buffer
        return
    with (
        path.open("rb") as file,
        click.progressbar(length=path.stat().st_size, label="Log", file=sys.stderr) as bar,
    ):
        yield _CountedLog(file, bar.update)


class _CountedLog:
    """A log that reports now and then how many bytes were read."""

    def __init__(self, file: BinaryIO, report: Callable[[int], None]) -> None:
        self._file = file
        self._report = report
        self._unreported = 0

    def readline(self, limit: int, /) -> bytes:
        line = self._file.readline(limit)
        self._unreported += len(line)
        if self._unreported >= REPORT_BYTES or not line:
            self._report(self._unreported)
            self._unreported = 0
        return line


def _print(outcome: Outcome, as_json: bool) -> None:
    if as_json:
        problems = [{"line": line, "reason": reason} for line, reason in outcome.problems]
        counts = {name: getattr(outcome, name) for name in _COUNTS}
        click.echo(json.dumps({**counts, "problems": problems}, indent=2))
    else:
        rows: list[tuple[Cell, ...]] = [
            (item, getattr(outcome, it)) for it, item in _COUNTS.items()
        ]
        for row in format_table(("item", "count"), rows, pretty=on_terminal()):
            click.echo(row)
    for line, reason in outcome.problems[:SHOWN]:
        click.echo(f"! Line {line}: {reason}", err=True)
    if (more := outcome.unreadable + outcome.refused - SHOWN) > 0:
        click.echo(f"! and {more} more", err=True)


_COUNTS = {
    "found": "events found",
    "posted": "posted",
    "known": "known already",
    "refused": "refused",
    "unreadable": "not readable",
}
