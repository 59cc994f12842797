"""Posts events that were found in a log, as far as the ledger can take them.

Does not know how a log is read.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from app.ledger.posting import Ledger
from app.ledger.rejections import REJECTIONS
from app.ledger.retention import pruned_until_s
from app.storage.sql.transactions import reading
from app.usage.messages.event import UsageEvent


class LoggedEvent(NamedTuple):
    """An event, and the line of the log that has it."""

    line: int
    event: UsageEvent


@dataclass(slots=True)
class LogReport:
    """How many events were posted, how many the ledger had, and the lines of refused ones."""

    posted: int = 0
    known: int = 0
    refused: list[tuple[int, str]] = field(default_factory=list)


def post_logged(ledger: Ledger, batch: Sequence[LoggedEvent]) -> LogReport:
    """Post events; those that the ledger has change nothing.

    An event whose entry may have been pruned is refused, because it would be counted twice.
    Raises: LedgerUnavailable; the batch may be posted again.
    """
    with reading(ledger.engine) as connection:
        until_ms = pruned_until_s(connection) * 1000
    report = LogReport()
    recent = [it for it in batch if it.event.started_at_ms >= until_ms]
    for line, event in batch:
        if event.started_at_ms < until_ms:
            report.refused.append(
                (line, "older than what was pruned, so it may be counted already")
            )
    try:
        report.posted = ledger.post([it.event for it in recent])
    except REJECTIONS:
        _post_each(ledger, recent, report)
    else:
        report.known = len(recent) - report.posted
    return report


def _post_each(ledger: Ledger, batch: Sequence[LoggedEvent], report: LogReport) -> None:
    for line, event in batch:
        try:
            posted = ledger.post([event])
        except REJECTIONS as exc:
            report.refused.append((line, f"the ledger rejects it ({type(exc).__name__})"))
        else:
            report.posted += posted
            report.known += 1 - posted
