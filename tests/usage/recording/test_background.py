"""What a web process does for usage besides its requests."""

import pytest
from redis import Redis

from app.storage.redis.keys import OPEN
from app.usage.messages.open_record import OpenRecord
from app.usage.recording import background
from app.usage.recording.recorder import Recorder
from app.usage.redis.open_records import OpenRecords
from tests.support.events import open_record
from tests.support.services.valkey import Valkey
from tests.usage.recording.steps import request


@pytest.fixture
def redis_url(own_valkey: Valkey) -> str:
    """Redis is the test's own here."""
    return own_valkey.url


def owners(redis: "Redis") -> dict[str, str | None]:
    records = OpenRecords(redis).all()
    return {event_id: OpenRecord.decode(raw).owner for event_id, raw in records.items()}


def test_records_of_finished_requests_are_disowned_once_a_minute(
    books: Recorder, redis: "Redis"
) -> None:
    assert books.owner
    for name in ("first", "second"):
        redis.hset(OPEN, name, open_record(event_id=name, owner=books.owner).encode())
        books._heartbeat_and_replay()
    assert owners(redis) == {"first": None, "second": books.owner}
    books._background.orphan_at_s -= background.ORPHAN_EVERY_S
    books._heartbeat_and_replay()
    assert owners(redis) == {"first": None, "second": None}


def test_the_redis_of_the_first_heartbeat_is_known_so_that_a_loss_soon_after_is_noticed(
    books: Recorder, redis: "Redis"
) -> None:
    live = request(books)
    redis.flushall()
    books._heartbeat_and_replay()
    assert list(OpenRecords(redis).all()) == [live.event_id]
