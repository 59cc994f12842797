"""The stream, on a real Valkey."""

import socket
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
from redis import Redis

from app.settings import ConfigError
from app.usage.event import UsageEvent
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.stream import CONNECTIONS, EventStream, StreamEntry, connect
from app.vocabulary.errors import StreamUnavailable
from tests.support.events import usage_event
from tests.support.services.valkey import Valkey


@pytest.fixture
def redis(redis_url: str) -> Iterator["Redis"]:
    """A client of an empty Redis."""
    with connect(redis_url, timeout_s=10.0) as client:
        yield client


@pytest.fixture
def stream(redis: "Redis") -> EventStream:
    """An empty stream on which a claim is left over at once."""
    return EventStream(redis, claim_idle_ms=0)


@pytest.fixture
def patient(redis: "Redis") -> EventStream:
    """The same stream, on which a claim is not left over as long as a test takes."""
    return EventStream(redis, claim_idle_ms=3_600_000)


def ids(entries: list[StreamEntry]) -> list[str]:
    """The events' ids."""
    return [UsageEvent.decode(entry.raw or b"").event_id for entry in entries]


def publish(stream: EventStream, count: int) -> list[str]:
    """Publish events; return their ids."""
    events = [usage_event() for _ in range(count)]
    for event in events:
        stream.publish(event)
    return [event.event_id for event in events]


def pending(redis: "Redis") -> int:
    """How many entries are claimed and not acknowledged."""
    return int(redis.xpending("usage:events", "drain")["pending"])


def test_a_claim_returns_each_event_once_and_in_order(patient: EventStream) -> None:
    published = publish(patient, 5)
    first, second = patient.claim("a", 3), patient.claim("b", 3)
    assert ids(first) + ids(second) == published
    assert patient.claim("a", 3) == patient.claim("b", 3) == []


def test_claiming_from_a_redis_that_never_saw_an_event_returns_nothing(stream: EventStream) -> None:
    assert stream.claim("a", 10) == []
    published = publish(stream, 1)
    assert ids(stream.claim("a", 10)) == published


def test_events_published_before_the_first_claim_are_claimed(stream: EventStream) -> None:
    published = publish(stream, 3)
    assert ids(stream.claim("a", 10)) == published


def test_acknowledged_entries_leave_the_stream_and_the_pending_list(
    patient: EventStream, redis: "Redis"
) -> None:
    publish(patient, 3)
    entries = patient.claim("a", 2)
    assert (patient.backlog(), pending(redis)) == (3, 2)
    patient.ack([entry.entry_id for entry in entries])
    assert (patient.backlog(), pending(redis)) == (1, 0)
    assert patient.drained() == 2


def test_acknowledging_nothing_or_twice_is_no_error(stream: EventStream) -> None:
    publish(stream, 1)
    [entry] = stream.claim("a", 1)
    stream.ack([])
    stream.ack([entry.entry_id])
    stream.ack([entry.entry_id])
    assert stream.backlog() == 0


def test_what_a_dead_consumer_left_comes_before_new_entries(
    patient: EventStream, stream: EventStream, redis: "Redis"
) -> None:
    left = publish(patient, 2)
    patient.claim("dead", 2)
    new = publish(patient, 1)
    assert patient.claim("alive", 10) != []  # not idle long enough: only what is new
    assert ids(stream.claim("alive", 10)) == left + new
    assert redis.xpending("usage:events", "drain")["consumers"] == [
        {"name": b"alive", "pending": 3}
    ]


def test_left_overs_behind_many_fresh_claims_are_found(redis: "Redis") -> None:
    """XAUTOCLAIM looks at ten times COUNT pending entries a call, then hands out a cursor."""
    stream = EventStream(redis, claim_idle_ms=60_000)
    published = publish(stream, 50)
    entries = stream.claim("dead", 50)
    redis.xclaim("usage:events", "drain", "dead", 0, [entries[-1].entry_id], idle=120_000)
    assert ids(stream.claim("alive", 1)) == published[-1:]


def test_a_flushed_redis_is_claimed_from_again(stream: EventStream, redis: "Redis") -> None:
    publish(stream, 1)
    assert len(stream.claim("a", 10)) == 1
    redis.flushall()
    assert stream.claim("a", 10) == []
    redis.flushall()
    published = publish(stream, 2)
    assert ids(stream.claim("a", 10)) == published


def test_an_entry_deleted_while_pending_is_reported_without_an_event(
    stream: EventStream, redis: "Redis"
) -> None:
    published = publish(stream, 3)
    entries = EventStream(redis).claim("dead", 3)
    redis.xdel("usage:events", entries[1].entry_id)
    left_over = sorted(stream.claim("alive", 10), key=lambda entry: entry.entry_id)
    assert left_over[1] == StreamEntry(entries[1].entry_id, None, is_deleted=True)
    assert ids([left_over[0], left_over[2]]) == [published[0], published[2]]
    assert pending(redis) == 2


def test_a_stream_trimmed_by_others_is_no_crash(stream: EventStream, redis: "Redis") -> None:
    publish(stream, 3)
    EventStream(redis).claim("dead", 3)
    redis.xtrim("usage:events", maxlen=0)
    assert [entry.raw for entry in stream.claim("alive", 10)] == [None] * 3
    assert stream.claim("alive", 10) == []


def test_an_entry_without_an_event_field_is_reported_without_an_event(
    stream: EventStream, redis: "Redis"
) -> None:
    redis.xadd("usage:events", {"other": "x"})
    assert [entry.raw for entry in stream.claim("a", 10)] == [None]


def test_buried_entries_are_kept_with_their_reason_and_leave_the_stream(
    patient: EventStream, redis: "Redis"
) -> None:
    raw = b"\xffnot json\0"
    redis.xadd("usage:events", {"event": raw})
    redis.xadd("usage:events", {"other": "x"})
    broken, empty = patient.claim("a", 10)
    patient.dead_letter([(broken, "not JSON"), (empty, "no event")])
    assert [record for _, record in redis.xrange("usage:dead") or ()] == [
        {b"event": raw, b"reason": b"not JSON", b"entry_id": broken.entry_id.encode()},
        {b"event": b"", b"reason": b"no event", b"entry_id": empty.entry_id.encode()},
    ]
    assert (patient.dead_count(), patient.backlog(), pending(redis)) == (2, 0, 0)


def test_an_entry_that_two_consumers_bury_is_buried_once(
    stream: EventStream, redis: "Redis"
) -> None:
    redis.xadd("usage:events", {"event": b"not JSON"})
    slow, quick = stream.claim("slow", 1), stream.claim("quick", 1)
    for claimed in (quick, slow):
        stream.dead_letter([(claimed[0], "not JSON")])
    assert (stream.dead_count(), stream.backlog(), pending(redis)) == (1, 0, 0)


def test_the_oldest_event_is_the_first_that_waits(stream: EventStream, redis: "Redis") -> None:
    assert stream.oldest_ms() is None
    redis.xadd("usage:events", {"event": b"x"}, id="1780000000123-4")
    redis.xadd("usage:events", {"event": b"x"}, id="1780000000999-0")
    assert stream.oldest_ms() == 1_780_000_000_123
    stream.ack([stream.claim("a", 1)[0].entry_id])
    assert stream.oldest_ms() == 1_780_000_000_999


def test_only_idle_consumers_with_nothing_pending_are_forgotten(
    patient: EventStream, redis: "Redis"
) -> None:
    publish(patient, 1)
    patient.claim("busy", 1)
    patient.claim("done", 1)
    assert patient.forget_idle_consumers() == 0
    assert patient.forget_idle_consumers(idle_ms=0) == 1
    assert [c["name"] for c in redis.xinfo_consumers("usage:events", "drain")] == [b"busy"]
    assert pending(redis) == 1


def test_forgetting_consumers_of_an_empty_redis_is_no_error(stream: EventStream) -> None:
    assert stream.forget_idle_consumers(idle_ms=0) == 0


def test_many_threads_share_the_connections(redis_url: str) -> None:
    with connect(f"{redis_url}?client_name=threads", timeout_s=60.0) as client:
        stream = EventStream(client)
        threads = [Thread(target=publish, args=(stream, 10)) for _ in range(4 * CONNECTIONS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert stream.backlog() == 40 * CONNECTIONS
        ours = [c for c in client.client_list() if c["name"] == "threads"]
    assert 1 <= len(ours) <= CONNECTIONS


SECRET_URL = "redis://someone:hunter2@127.0.0.1:{port}/0"


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that takes connections and answers nothing, as a paused Redis does."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as server:
        yield server.getsockname()[1]


def test_a_silent_redis_is_given_up_without_its_url(silent_port: int) -> None:
    url = SECRET_URL.format(port=silent_port)
    with connect(url, timeout_s=0.2) as client, pytest.raises(StreamUnavailable) as error:
        EventStream(client).backlog()
    assert_no_secret(error.value, silent_port)


def test_a_refused_connection_is_tried_once_and_told_without_its_url() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    url = SECRET_URL.format(port=port)
    with connect(url, timeout_s=5.0) as client, pytest.raises(StreamUnavailable) as error:
        EventStream(client).publish(usage_event())
    assert_no_secret(error.value, port)


def test_a_refused_password_is_told_without_its_url(valkey: Valkey) -> None:
    with (
        connect(SECRET_URL.format(port=valkey.port), timeout_s=10.0) as client,
        pytest.raises(StreamUnavailable) as error,
    ):
        EventStream(client).publish(usage_event())
    assert_no_secret(error.value, valkey.port)


def assert_no_secret(error: StreamUnavailable, port: int) -> None:
    """The message reaches callers."""
    assert error.status == 503
    for secret in ("hunter2", "someone", "127.0.0.1", str(port)):
        assert secret not in error.message


@pytest.mark.parametrize(
    "url", ["", "localhost:6379", "http://hunter2@host", "redis://someone:hunter2/x@host:6379/0"]
)
def test_a_url_that_cannot_be_read_is_refused_without_quoting_it(url: str) -> None:
    with pytest.raises(ConfigError, match="REDIS_URL") as error:
        connect(url, timeout_s=1.0)
    assert "hunter2" not in str(error.value)
    assert error.value.__suppress_context__


def test_certificates_are_checked_unless_the_url_says_otherwise() -> None:
    def kwargs(url: str) -> dict[str, object]:
        with connect(url, timeout_s=1.0) as client:
            return dict(client.connection_pool.connection_kwargs)

    assert "ssl_cert_reqs" not in kwargs("rediss://host:6380/0")  # redis-py requires by default
    assert kwargs("rediss://host:6380/0?ssl_cert_reqs=none")["ssl_cert_reqs"] == "none"


@pytest.fixture
def own_valkey(tmp_path: Path) -> Iterator[Valkey]:
    """A Valkey of the test's own, to stop and change."""
    server = Valkey(tmp_path).start()
    yield server
    server.kill()


def test_a_client_works_again_after_a_restart(own_valkey: Valkey) -> None:
    with connect(own_valkey.url, timeout_s=10.0) as client:
        stream = EventStream(client)
        stream.publish(usage_event())
        own_valkey.stop()
        with pytest.raises(StreamUnavailable):
            stream.backlog()
        own_valkey.start()
        assert stream.claim("a", 1) == []
        own_valkey.kill()
        own_valkey.start()
        stream.publish(usage_event())  # the pooled connection is dead, and nobody is told
        assert stream.backlog() == 1


def test_a_full_redis_publishes_neither_event_nor_removes_the_open_record(
    own_valkey: Valkey,
) -> None:
    with connect(own_valkey.url, timeout_s=10.0) as client:
        stream, records = EventStream(client), OpenRecords(client)
        records.open("e1", b"record", 1)
        client.config_set("maxmemory", 1)
        with pytest.raises(StreamUnavailable, match="OutOfMemoryError"):
            stream.publish(usage_event(event_id="e1"))
        client.config_set("maxmemory", 0)
        assert (records.count(), stream.backlog()) == (1, 0)


def test_a_paused_redis_is_given_up(own_valkey: Valkey) -> None:
    with connect(own_valkey.url, timeout_s=1.0) as client:
        stream = EventStream(client)
        own_valkey.pause()
        with pytest.raises(StreamUnavailable, match="TimeoutError"):
            stream.publish(usage_event())
        own_valkey.resume()
