"""Events and open records in journals, and what journals hold."""

import orjson

from app.usage.disk.adopted_journal import AdoptedJournal
from app.usage.disk.journal import Entry, Journal
from app.usage.numbers import Ranges, with_numbers
from tests.support.events import open_record, usage_event


def event(number: int, process: str = "me") -> Entry:
    it = usage_event(event_id=f"e{number}", process=process, number=number)
    return Entry("event", it.event_id, process, number, it.encode())


def opened(number: int, process: str = "me") -> Entry:
    it = open_record(event_id=f"e{number}", owner=process, number=number)
    return Entry("open", it.event_id, process, number, it.encode())


def ids(journal: Journal | AdoptedJournal) -> list[str]:
    """Return kind and event id of each line that may have to be sent again."""
    found = journal.unposted() if isinstance(journal, Journal) else journal.lines()
    return [f"{kind} {orjson.loads(payload)['event_id']}" for kind, payload in found]


def posted(*numbers: int) -> dict[str, Ranges]:
    return {"me": with_numbers((), [(number, 1) for number in numbers])}
