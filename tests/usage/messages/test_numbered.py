"""Whose request a message is about."""

import pytest

from app.usage.messages.numbered import numbered
from tests.support.events import open_record, usage_event


def test_events_and_open_records_name_their_process_and_number() -> None:
    event = usage_event(process="web-1", number=7)
    record = open_record(owner="web-1", number=7)
    for raw in (event.encode(), record.encode(), record.disowned().encode()):
        it = numbered(raw)
        assert it is not None
        assert it.key == ("web-1", 7)


@pytest.mark.parametrize(
    "raw", [usage_event().encode(), open_record().encode(), b'{"event_id":"e","number":3}']
)
def test_a_message_of_a_version_without_numbers_has_no_number(raw: bytes) -> None:
    it = numbered(raw)
    assert it is not None
    assert it.key is None


@pytest.mark.parametrize("raw", [b"", b"[]", b"nonsense", b'{"event_id":5}', b"[" * 100_000])
def test_anything_else_is_no_message(raw: bytes) -> None:
    assert numbered(raw) is None
