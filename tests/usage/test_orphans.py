"""Open records of finished requests, as a restored Redis has them, go to the reaper."""

from collections.abc import Iterator

import pytest
from redis import Redis

from app.usage.messages.open_record import OpenRecord
from app.usage.orphans import Orphans
from app.usage.redis.open_records import OpenRecords
from tests.support.events import open_record


@pytest.fixture
def records(redis_url: str) -> Iterator[OpenRecords]:
    with Redis.from_url(redis_url) as redis:
        yield OpenRecords(redis)


def owners(records: OpenRecords) -> dict[str, str | None]:
    return {name: OpenRecord.decode(raw).owner for name, raw in records.all().items()}


def opened(records: OpenRecords, event_id: str, owner: str, user: str = "u") -> None:
    records.open(event_id, open_record(event_id=event_id, owner=owner, user=user).encode(), 1)


def test_only_finished_requests_of_the_owner_are_disowned(records: OpenRecords) -> None:
    opened(records, "finished", "me")
    opened(records, "live", "me")
    opened(records, "theirs", "other", user="me")
    Orphans(records, {"live"}).disown("me")
    assert owners(records) == {"finished": None, "live": "me", "theirs": "other"}


def test_a_process_looks_once_a_minute_or_when_redis_comes_back(records: OpenRecords) -> None:
    orphans = Orphans(records, ())
    orphans.disown("me")
    opened(records, "finished", "me")
    orphans.disown("me")
    assert owners(records) == {"finished": "me"}
    orphans.be_due()
    orphans.disown("me")
    assert owners(records) == {"finished": None}


def test_a_record_that_cannot_be_decoded_is_left_to_the_reaper(records: OpenRecords) -> None:
    records.open("broken", b'{"owner": "me"}', 1)
    Orphans(records, ()).disown("me")
    assert records.all() == {"broken": b'{"owner": "me"}'}
