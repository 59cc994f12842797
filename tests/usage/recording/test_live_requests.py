"""Requests under way, and what Redis has of them."""

from redis import Redis

from app.admission.limiter import AdmissionRequest
from app.storage.redis.keys import OPEN
from app.usage.messages.open_record import OpenRecord
from app.usage.recording.live_request import LiveRequest
from app.usage.recording.live_requests import (
    CHECKPOINTS_AT_ONCE,
    REJECTED_LIMIT,
    LiveRequests,
)
from app.usage.redis.open_records import OpenRecords
from tests.support.events import open_record
from tests.usage.recording.steps import ASKED

NOW_MS = 1_780_000_000_000


def live(*records: OpenRecord) -> LiveRequests:
    found = LiveRequests()
    for record in records:
        admission = AdmissionRequest(record.event_id, record.started_at_ms, (), ASKED, ())
        found[record.event_id] = LiveRequest(admission, lambda it=record: it)  # type: ignore[misc]
    return found


def test_the_oldest_is_known() -> None:
    records = [open_record(event_id=f"e{at}", started_at_ms=NOW_MS + at) for at in (3, 1, 2)]
    assert live(*records).oldest_ms() == NOW_MS + 1
    assert live().oldest_ms() is None


def test_old_requests_are_checkpointed_however_many_there_are(redis: "Redis") -> None:
    old = [
        open_record(event_id=f"e{at}", started_at_ms=NOW_MS, completion_tokens=at)
        for at in range(2 * CHECKPOINTS_AT_ONCE + 1)
    ]
    young = open_record(event_id="young", started_at_ms=2**45, completion_tokens=7)
    for it in (*old, young):
        redis.hset(OPEN, it.event_id, b"{}")
    live(*old, young).checkpoint(OpenRecords(redis))
    stored = OpenRecords(redis).all()
    assert stored.pop("young") == b"{}"
    assert stored == {it.event_id: it.encode() for it in old}


def test_records_that_redis_has_lost_are_written_and_those_that_it_has_stay(
    redis: "Redis",
) -> None:
    lost, there = (open_record(event_id=it, number=n) for n, it in ((1, "lost"), (2, "there")))
    unnumbered = open_record(event_id="not admitted yet")
    redis.hset(OPEN, "there", b"newer")
    live(lost, there, unnumbered).reopen(OpenRecords(redis))
    assert OpenRecords(redis).all() == {"lost": lost.encode(), "there": b"newer"}


def test_a_request_that_ends_while_it_is_reopened_leaves_no_record(redis: "Redis") -> None:
    requests = live(record := open_record(event_id="e1", number=1))

    def ended() -> OpenRecord:
        del requests["e1"]
        return record

    requests["e1"] = LiveRequest(requests["e1"].admission, ended)
    requests.reopen(OpenRecords(redis))
    assert redis.hlen(OPEN) == 0


def test_records_of_this_process_without_a_request_are_disowned(redis: "Redis") -> None:
    ended, other, ours = (
        open_record(event_id="ended", owner="me", number=4),
        open_record(event_id="other", owner="you"),
        open_record(event_id="ours", owner="me"),
    )
    for it in (ended, other, ours):
        redis.hset(OPEN, it.event_id, it.encode())
    redis.hset(OPEN, "bad", b"nonsense")
    live(ours).orphan_others(OpenRecords(redis), "me")
    stored = OpenRecords(redis).all()
    assert OpenRecord.decode(stored.pop("ended")).process_name == "me"
    assert stored == {
        "other": other.encode(),
        "ours": ours.encode(),
        "bad": b"nonsense",
    }


def test_a_rejected_request_that_redis_opened_all_the_same_has_used_nothing(
    redis: "Redis",
) -> None:
    of = {"owner": "me", "prompt_chars": 40}
    opened, ended = (open_record(event_id=it, number=4, **of) for it in ("opened", "ended"))
    requests = live(opened, open_record(event_id="limited", owner="me"))
    for it in (opened, ended):
        redis.hset(OPEN, it.event_id, it.encode())
    requests.reject("opened", is_open=True)
    requests.reject("limited", is_open=False)
    assert not requests
    requests.orphan_others(OpenRecords(redis), "me")
    stored = {it: OpenRecord.decode(raw) for it, raw in OpenRecords(redis).all().items()}
    assert (stored["opened"].prompt_chars, stored["ended"].prompt_chars) == (0, 40)
    assert (stored["opened"].prompt_tokens, stored["opened"].number) == (0, 4)
    assert {it.process_name for it in stored.values()} == {"me"}


def test_no_more_rejected_requests_are_remembered_than_the_limit() -> None:
    records = [open_record(event_id=f"e{at}") for at in range(REJECTED_LIMIT + 5)]
    requests = live(*records)
    for it in records:
        requests.reject(it.event_id, is_open=True)
    assert len(requests._rejected) == REJECTED_LIMIT
