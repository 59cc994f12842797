"""Checkpoints of noted requests, in a real Valkey."""

from collections.abc import Iterator

import pytest
from redis import Redis

from app.admission.limiter import AdmissionRequest
from app.storage.redis.connection import connect
from app.usage.messages.open_record import OpenRecord
from app.usage.recording.checkpoints import Checkpoints
from app.usage.recording.live_request import LiveRequest
from app.usage.redis.open_records import OpenRecords
from app.vocabulary.completion import CompletionRequest
from tests.support.events import open_record
from tests.support.services.polling import wait_until

ASKED = CompletionRequest(model="sim/m", prompt="p")


class Request:
    """A request that reports a count for each checkpoint."""

    def __init__(self, event_id: str) -> None:
        self.event_id, self.count = event_id, 0
        self.live = LiveRequest(AdmissionRequest(event_id, 1, (), ASKED, ()), self.checkpoint)

    def checkpoint(self) -> OpenRecord:
        self.count += 1
        return open_record(event_id=self.event_id, prompt_tokens=self.count)


@pytest.fixture
def redis(redis_url: str) -> Iterator["Redis"]:
    with Redis.from_url(redis_url) as redis:
        yield redis


def test_a_noted_request_is_written_soon_and_others_are_not(redis: "Redis") -> None:
    records = OpenRecords(redis)
    noted, other = Request("noted"), Request("other")
    for request in (noted, other):
        records.reopen(request.event_id, b"{}", "", 0)
    checkpoints = Checkpoints(records, {it.event_id: it.live for it in (noted, other)})
    checkpoints.note("noted")
    checkpoints.note("noted")
    wait_until(lambda: records.all()["noted"] != b"{}")
    assert OpenRecord.decode(records.all()["noted"]).prompt_tokens == 1
    assert records.all()["other"] == b"{}"
    checkpoints.note("noted")
    wait_until(lambda: OpenRecord.decode(records.all()["noted"]).prompt_tokens == 2)
    checkpoints.close()


def test_a_request_that_has_finished_is_not_written(redis: "Redis") -> None:
    records = OpenRecords(redis)
    records.reopen("live", b"{}", "", 0)
    live = Request("live")
    checkpoints = Checkpoints(records, {"live": live.live})
    checkpoints.note("finished")
    checkpoints.note("live")
    wait_until(lambda: records.all()["live"] != b"{}")
    assert list(records.all()) == ["live"]
    checkpoints.close()


def test_without_redis_a_checkpoint_is_a_line_in_the_log_and_the_next_one_follows(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with connect("redis://127.0.0.1:1/0", timeout_s=1.0) as nowhere:
        request = Request("e")
        checkpoints = Checkpoints(OpenRecords(nowhere), {"e": request.live})
        for count in (1, 2):
            checkpoints.note("e")
            wait_until(lambda count=count: len(caplog.records) == count)  # type: ignore[misc]
        checkpoints.close()
    assert {record.getMessage() for record in caplog.records} == {
        "1 checkpoints were not written: Redis is unavailable"
    }


def test_a_checkpoint_that_fails_stops_no_other(
    redis: "Redis", caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> OpenRecord:
        raise ZeroDivisionError

    records, good = OpenRecords(redis), Request("good")
    records.reopen("good", b"{}", "", 0)
    bad = LiveRequest(good.live.admission, fail)
    checkpoints = Checkpoints(records, {"bad": bad, "good": good.live})
    checkpoints.note("bad")
    wait_until(lambda: "were not written" in caplog.text)
    checkpoints.note("good")
    wait_until(lambda: records.all()["good"] != b"{}")
    checkpoints.close()


def test_a_thread_that_was_never_needed_is_never_started(redis: "Redis") -> None:
    checkpoints = Checkpoints(OpenRecords(redis), {})
    checkpoints.close()
    assert checkpoints._thread is None
