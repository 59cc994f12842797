"""Recorder while Redis comes and goes."""

import logging
import re
import time
from pathlib import Path
from typing import Any

import orjson
import pytest
from redis import Redis

from app.admission.numbering import Opening
from app.storage.redis.keys import OPEN, OWNER
from app.usage.messages.event import UsageEvent
from app.usage.messages.open_record import OpenRecord
from app.usage.recording import live_requests
from app.usage.recording import recorder as recorder_module
from app.usage.recording.live_requests import CHECKPOINT_AFTER_S
from app.usage.recording.recorder import Recorder
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.stream import EventStream
from app.vocabulary.completion import Choice, Completion, HalfUsage
from app.vocabulary.errors import StreamUnavailable
from tests.support.services.polling import wait_until
from tests.support.services.valkey import Valkey
from tests.usage.recording.steps import ASKED, COUNT, answer, crash, events, recorder_of, request
from workers.reaper import reap


@pytest.fixture
def redis_url(own_valkey: Valkey) -> str:
    """Redis is the test's own here."""
    return own_valkey.url


def go_away(valkey: Valkey, how: str) -> None:
    if how == "killed":
        valkey.kill()
    elif how == "paused":
        valkey.pause()
    else:
        with Redis.from_url(valkey.url) as redis:
            if how == "full":
                redis.config_set("maxmemory", 1)
            else:
                redis.replicaof("127.0.0.1", "1")


def come_back(valkey: Valkey, how: str) -> None:
    if how == "killed":
        valkey.start()
    elif how == "paused":
        valkey.resume()
    else:
        with Redis.from_url(valkey.url) as redis:
            if how == "full":
                redis.config_set("maxmemory", 0)
            else:
                redis.replicaof("no", "one")


@pytest.mark.parametrize("how", ["killed", "paused", "full", "read-only"])
def test_whatever_ails_redis_requests_go_on_and_nothing_is_lost_or_doubled(
    books: Recorder, own_valkey: Valkey, redis: "Redis", how: str, tmp_path: Path
) -> None:
    before, across = request(books), request(books)
    answer(before)
    go_away(own_valkey, how)
    answer(across)
    during, later = request(books), request(books)
    answer(during)
    assert list((tmp_path / "spool").glob("*.jsonl"))
    come_back(own_valkey, how)
    # A paused server does, when it goes on, what nobody waits for any more: an event may be there
    # twice, and is one to the ledger.
    wait_until(lambda: len({event.event_id for event in events(redis)}) == 3)
    wait_until(lambda: list(OpenRecords(redis).all()) == [later.event_id])
    wait_until(lambda: not list((tmp_path / "spool").glob("*.jsonl")))
    answer(later)
    wait_until(lambda: redis.hlen(OPEN) == 0)
    told = {event.event_id for event in events(redis)}
    assert told == {meter.event_id for meter in (before, across, during, later)}
    assert all(event.usage == COUNT for event in events(redis))


class Killed(BaseException):
    """What a server throws into a thread that it gives up; like gevent's GreenletExit."""


def test_a_request_that_is_killed_while_it_publishes_is_still_recorded(
    books: Recorder, redis: "Redis", monkeypatch: pytest.MonkeyPatch
) -> None:
    meter = request(books)

    def killed(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(EventStream, "publish_encoded", killed)
        with pytest.raises(Killed):
            answer(meter)
    books._heartbeat_and_replay()
    assert {event.event_id for event in events(redis)} == {meter.event_id}
    assert redis.hlen(OPEN) == 0


def test_a_request_that_is_killed_while_it_is_opened_costs_nothing(
    books: Recorder, redis: "Redis", monkeypatch: pytest.MonkeyPatch
) -> None:
    real = OpenRecords.open

    def killed(self: OpenRecords, opening: Opening) -> None:
        real(self, opening)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(OpenRecords, "open", killed)
        with pytest.raises(Killed):
            request(books)
    books._background.orphan_at_s = 0.0
    books._heartbeat_and_replay()
    now_ms = time.time_ns() // 1_000_000
    assert reap(OpenRecords(redis), now_ms=now_ms + 60_000) == 1
    (event,) = events(redis)
    assert (event.status, event.total_tokens) == ("abandoned", 0)


def test_while_redis_is_down_no_request_waits_for_it(
    books: Recorder, own_valkey: Valkey, monkeypatch: pytest.MonkeyPatch
) -> None:
    request(books)
    own_valkey.pause()
    asked: list[str] = []
    monkeypatch.setattr(recorder_module, "RETRY_S", 3600.0)
    real = OpenRecords.open

    def noted(self: OpenRecords, opening: Opening) -> int:
        asked.append(opening.event_id)
        return real(self, opening)

    monkeypatch.setattr(OpenRecords, "open", noted)
    for _ in range(50):
        request(books)
    assert len(asked) == 1
    own_valkey.resume()


def test_without_redis_a_request_is_rejected_if_configured(
    own_valkey: Valkey, tmp_path: Path
) -> None:
    books = recorder_of(own_valkey, tmp_path, serve_without_redis=False)
    begun = request(books)
    own_valkey.kill()
    answer(begun)  # its vendor was paid, so its event is still recorded
    for _ in range(2):
        with pytest.raises(StreamUnavailable) as refused:
            request(books)
        assert refused.value.status == 503
    (path,) = (tmp_path / "spool").glob("*.jsonl")
    assert path.read_bytes().startswith(b'{"event":')
    books.close()


def test_a_new_process_replays_what_a_crashed_one_left(
    own_valkey: Valkey, redis: "Redis", tmp_path: Path
) -> None:
    dead = recorder_of(own_valkey, tmp_path)
    own_valkey.kill()
    answered, unanswered = request(dead), request(dead)
    answer(answered)
    crash(dead)
    own_valkey.start()
    heir = recorder_of(own_valkey, tmp_path)
    other = request(heir)
    wait_until(lambda: len(events(redis)) == 1)
    wait_until(lambda: redis.hlen(OPEN) == 2)
    assert events(redis)[0].event_id == answered.event_id
    assert reap(OpenRecords(redis), now_ms=unanswered.started_at_ms + 60_000) == 1
    abandoned = events(redis)[-1]
    assert (abandoned.event_id, abandoned.status) == (unanswered.event_id, "abandoned")
    assert abandoned.prompt_tokens == len("secret words of a prompt") // 4
    assert list(OpenRecords(redis).all()) == [other.event_id]
    heir.close()


def a_file_is_in_its_place(spool: Path) -> None:
    spool.write_text("a file where the directory should be")


def test_without_redis_and_spool_a_request_is_rejected_and_logged_once(
    books: Recorder,
    own_valkey: Valkey,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    own_valkey.kill()
    a_file_is_in_its_place(tmp_path / "spool")
    for _ in range(3):
        with pytest.raises(StreamUnavailable):
            request(books)
    told = [it.getMessage() for it in caplog.records if "be written to" in it.getMessage()]
    assert len(told) == 1
    assert str(tmp_path / "spool") in told[0]
    (tmp_path / "spool").unlink()
    answer(request(books))
    assert books.oldest_spooled_ms is not None


@pytest.mark.parametrize("back", ["redis", "spool"])
def test_an_event_that_nothing_took_is_written_as_soon_as_something_does(
    spooling: Recorder, own_valkey: Valkey, redis: "Redis", tmp_path: Path, back: str
) -> None:
    meter = request(spooling)
    own_valkey.kill()
    a_file_is_in_its_place(tmp_path / "spool")
    answer(meter)
    assert spooling.oldest_spooled_ms is not None
    if back == "redis":
        own_valkey.start()
    else:
        (tmp_path / "spool").unlink()
        wait_until(lambda: list((tmp_path / "spool").glob("*.jsonl")))
        own_valkey.start()
    wait_until(lambda: spooling.oldest_spooled_ms is None)
    assert [event.event_id for event in events(redis)] == [meter.event_id]
    assert redis.hlen(OPEN) == 0


def test_when_the_disk_fails_too_the_event_is_in_the_log_and_no_prompt_is(
    spooling: Recorder, own_valkey: Valkey, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    meter = request(spooling)
    own_valkey.kill()
    a_file_is_in_its_place(tmp_path / "spool")
    answer(meter)
    answer(meter)
    lines = [r for r in caplog.records if "not recorded yet" in r.getMessage()]
    assert [line.levelno for line in lines] == [logging.ERROR]
    found = re.search(r"\{.*\}", lines[0].getMessage())
    assert found
    event = UsageEvent.decode(found[0].encode())
    assert (event.event_id, event.usage) == (meter.event_id, COUNT)
    assert "secret" not in caplog.text
    assert "generated" not in caplog.text


def test_a_long_request_is_checkpointed(
    books: Recorder, redis: "Redis", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_requests, "CHECKPOINT_AFTER_S", 0.0)
    meter = request(books)
    call = meter.call("sim", ASKED)
    call.billable = True
    for text in ("one two ", "three"):
        call.observe(Completion("c", 1, "m", (Choice(0, text),)))
        books._heartbeat_and_replay()
    record = orjson.loads(redis.hget(OPEN, meter.event_id) or b"")
    assert (record["prompt_tokens"], record["completion_tokens"]) == (5, 4)
    redis.delete(*redis.keys(f"{OWNER}*"))
    assert reap(OpenRecords(redis), now_ms=meter.started_at_ms + 60_000) == 1
    (event,) = events(redis)
    assert (event.status, event.source, event.total_tokens) == ("abandoned", "estimated", 9)
    assert event.attempts == 1


def test_a_request_whose_vendor_is_not_called_yet_has_its_prompt(
    books: Recorder, redis: "Redis", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_requests, "CHECKPOINT_AFTER_S", 0.0)
    meter = request(books)
    wait_until(lambda: time.time_ns() // 1_000_000 > meter.started_at_ms)
    books._heartbeat_and_replay()
    raw: Any = redis.hget(OPEN, meter.event_id)
    record = OpenRecord.decode(raw)
    assert (record.prompt_tokens, record.completion_tokens, record.attempts) == (5, 0, 0)


def test_a_living_process_requests_are_not_reaped(books: Recorder, redis: "Redis") -> None:
    meter = request(books)
    assert reap(OpenRecords(redis), now_ms=meter.started_at_ms + 60_000) == 0
    redis.delete(*redis.keys(f"{OWNER}*"))
    assert reap(OpenRecords(redis), now_ms=meter.started_at_ms + 1000) == 0  # too young
    assert reap(OpenRecords(redis), now_ms=meter.started_at_ms - 3_600_000) == 1  # a clock jumped
    assert events(redis)[0].status == "abandoned"


def test_an_undecodable_record_becomes_a_dead_letter_and_stops_no_other(redis: "Redis") -> None:
    records = OpenRecords(redis)
    records.reopen("bad", b"\xff", "", 0)
    records.reopen("worse", b'{"owner": "gone", "started_at_ms": "x"}', "", 0)
    assert reap(records) == 2
    assert redis.xlen("usage:dead") == 2
    assert records.count() == 0


def test_what_a_vendor_counts_while_it_answers_is_written_down_soon(
    books: Recorder, redis: "Redis"
) -> None:
    """A crash from then on does not cost that count; nobody waits five seconds for it."""
    meter = request(books)
    begun = HalfUsage(prompt_tokens=2010, total_tokens=2010, lacks="completion")
    meter.call("sim", ASKED).observe(Completion("c", 1, "m", (Choice(0, ""),), begun))

    def written() -> object:
        return orjson.loads(redis.hget(OPEN, meter.event_id) or b"{}").get("prompt_tokens")

    wait_until(lambda: written() == 2010, deadline_s=CHECKPOINT_AFTER_S - 1)
    raw: Any = redis.hget(OPEN, meter.event_id)
    record = OpenRecord.decode(raw)
    assert (record.prompt_source, record.completion_source) == ("vendor", "estimated")
