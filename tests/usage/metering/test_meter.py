"""Meter: what became of the request, and that it is recorded once."""

import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from redis import Redis

from app.storage.redis.connection import connect
from app.storage.redis.keys import EVENTS, OPEN
from app.usage.messages.event import UsageEvent
from app.usage.metering.call_meter import CallMeter
from app.usage.metering.meter import Meter
from app.usage.metering.request_context import RequestContext
from app.usage.recording.recorder import Recorder
from app.usage.redis.stores import Stores
from app.vocabulary.completion import CompletionRequest, Usage
from app.vocabulary.errors import VendorOverloaded, VendorTimeout
from app.vocabulary.statuses import Status
from app.vocabulary.text import TEXT_LIMIT
from tests.support.services.polling import wait_until
from tests.usage.calls import ASKED, COUNT, chunk

CONTEXT = RequestContext(
    request_id="req_1", account_id="acct_1", api_key_id="key_1", client_retry_count=2
)


@pytest.fixture
def books(redis_url: str, tmp_path: Path) -> Iterator[Recorder]:
    """The recorder of the process under test."""
    redis = connect(redis_url, 10.0)
    books = Recorder(Stores.of(redis), tmp_path)
    yield books
    books.close()


def recorded(redis: "Redis") -> list[UsageEvent]:
    """Return the events on the stream."""
    entries: Any = redis.xrange(EVENTS)
    return [UsageEvent.decode(entry[b"event"]) for _, entry in entries]


def test_the_model_has_its_name_in_the_ledger_in_the_request_and_in_each_call(
    books: Recorder, redis: "Redis"
) -> None:
    meter = Meter(books, CONTEXT, ASKED, model="booked")
    meter.open()
    record = orjson.loads(redis.hget(OPEN, meter.event_id) or b"")
    call = meter.call("sim", ASKED, "booked")
    call.billable = call.is_whole = True
    meter.record("completed")
    (event,) = recorded(redis)
    assert (record["model"], event.model) == ("booked", "booked")
    assert event.calls == ()  # the event describes its only call


def test_the_open_record_exists_until_the_request_is_recorded(
    books: Recorder, redis: "Redis"
) -> None:
    meter = Meter(books, CONTEXT, ASKED)
    meter.open()
    record = orjson.loads(redis.hget(OPEN, meter.event_id) or b"")
    assert record == {
        "number": 1,
        "event_id": meter.event_id,
        "request_id": "req_1",
        "account_id": "acct_1",
        "api_key_id": "key_1",
        "user": "someone",
        "vendor": "sim",
        "model": "m",
        "stream": True,
        "client_retry_count": 2,
        "started_at_ms": meter.started_at_ms,
        "owner": record["owner"],
        "prompt_chars": len("secret words"),
    }
    meter.record("failed")
    assert redis.hlen(OPEN) == 0
    assert len(recorded(redis)) == 1


def test_an_event_has_everything_that_is_known(books: Recorder, redis: "Redis") -> None:
    meter = Meter(books, CONTEXT, ASKED)
    meter.open()
    call = meter.call("backup", ASKED)
    call.billable, call.http_status, call.vendor_request_id = True, 200, "vendor-1"
    call.observe(chunk("", model="m-2026"))
    call.observe(chunk("hello", usage=COUNT, model="m-2026"))
    meter.record("completed")
    [event] = recorded(redis)
    assert event.event_id == meter.event_id
    assert (event.vendor, event.model) == ("sim", "m")
    assert (event.vendor_served, event.model_served) == ("backup", "m-2026")
    assert (event.status, event.source, event.usage) == ("completed", "vendor", COUNT)
    assert (event.http_status, event.vendor_request_id, event.attempts) == (200, "vendor-1", 1)
    assert event.first_token_ms is not None
    assert 0 <= event.first_token_ms <= event.duration_ms


def test_the_time_to_the_first_token_is_the_first_ones_and_not_the_last_ones() -> None:
    call = CallMeter("sim", ASKED)
    call.observe(chunk(""))  # no token yet
    began_s = time.monotonic()
    call.observe(chunk("one"))
    first_s = time.monotonic()
    wait_until(lambda: time.monotonic() > first_s + 0.01)
    call.observe(chunk("two"))
    assert call.first_token_at_s is not None
    assert began_s <= call.first_token_at_s <= first_s


def test_of_several_calls_the_earliest_token_is_the_first(books: Recorder, redis: "Redis") -> None:
    meter, began_s = Meter(books, CONTEXT, ASKED), time.monotonic()
    for after_s in (20.0, 10.0, None, 30.0):
        call = meter.call("sim", ASKED)
        call.first_token_at_s = None if after_s is None else began_s + after_s
    meter.record("completed")
    (event,) = recorded(redis)
    assert event.first_token_ms is not None
    assert 10_000 <= event.first_token_ms < 20_000


def test_a_request_without_a_token_has_no_time_to_the_first(
    books: Recorder, redis: "Redis"
) -> None:
    meter = Meter(books, CONTEXT, ASKED)
    meter.call("sim", ASKED).observe(chunk("", usage=COUNT))
    meter.record("completed")
    assert recorded(redis)[0].first_token_ms is None


STATUSES: list[tuple[Status, bool, bool, bool, str]] = [
    # status, read to the end, the vendor counted, work was done -> source
    ("completed", False, True, True, "vendor"),
    ("completed", False, False, True, "estimated"),
    ("failed", False, False, False, "none"),
    ("failed", False, False, True, "estimated"),
    ("failed", False, True, True, "vendor"),
    ("truncated", False, True, True, "vendor"),
    ("truncated", False, False, True, "estimated"),
    ("disconnected", False, False, False, "none"),
    ("disconnected", False, False, True, "estimated"),
    ("disconnected", False, True, True, "vendor"),
    ("disconnected", True, True, True, "read"),
    ("disconnected", True, False, True, "estimated"),
    ("disconnected", True, False, False, "none"),
]


@pytest.mark.parametrize(("status", "read_to_end", "counted", "worked", "source"), STATUSES)
def test_an_event_has_its_status_and_source(
    books: Recorder,
    redis: "Redis",
    status: Status,
    read_to_end: bool,
    counted: bool,
    worked: bool,
    source: str,
) -> None:
    meter = Meter(books, CONTEXT, ASKED)
    call = meter.call("sim", ASKED)
    call.billable = worked
    if counted:
        call.observe(chunk(usage=COUNT))
    meter.record(status, read_to_end=read_to_end)
    [event] = recorded(redis)
    assert (event.status, event.source) == (status, source)
    assert bool(event.usage) == (source != "none")


def test_a_request_is_recorded_once(books: Recorder, redis: "Redis") -> None:
    meter = Meter(books, CONTEXT, ASKED)
    meter.open()
    for status in ("truncated", "completed", "disconnected"):
        meter.record(status)
    assert [event.status for event in recorded(redis)] == ["truncated"]


def test_a_request_that_was_never_sent_is_recorded_as_that(books: Recorder, redis: "Redis") -> None:
    meter = Meter(books, CONTEXT, ASKED)
    meter.open()
    meter.record("failed")
    [event] = recorded(redis)
    assert (event.source, event.attempts, event.usage) == ("none", 0, Usage())
    assert (event.http_status, event.model_served, event.first_token_ms) == (None, None, None)


def test_calls_of_one_request_are_summed_and_one_estimate_makes_an_estimate(
    books: Recorder, redis: "Redis"
) -> None:
    meter = Meter(books, CONTEXT, ASKED)
    for _ in range(2):
        call = meter.call("sim", ASKED)
        call.billable = True
        call.observe(chunk("a", usage=COUNT))
    assert (meter.usage, meter.source) == (COUNT + COUNT, "vendor")
    failed = meter.call("sim", ASKED)
    failed.failed(VendorOverloaded("x", vendor_status=503))
    assert (meter.usage, meter.source) == (COUNT + COUNT, "vendor")
    broken = meter.call("other", ASKED)
    broken.failed(VendorTimeout("x", billable=True))
    meter.record("failed")
    [event] = recorded(redis)
    assert (event.attempts, event.source, event.vendor_served) == (4, "estimated", "other")
    assert event.usage == COUNT + COUNT + Usage(prompt_tokens=2, total_tokens=2)


def used(meter: Meter, vendor: str, model: str, tokens: int, tier: str | None = None) -> None:
    """Make a call whose prompt has `tokens` tokens."""
    asked = CompletionRequest(model=f"{vendor}/{model}", prompt="x")
    call = meter.call(vendor, asked)
    call.service_tier = tier
    call.observe(chunk(usage=Usage(prompt_tokens=tokens, total_tokens=tokens), model=f"{model}-1"))


def test_one_call_of_the_requested_model_is_described_by_the_event(
    books: Recorder, redis: "Redis"
) -> None:
    meter = Meter(books, CONTEXT, ASKED)
    meter.call("other", ASKED).failed(VendorOverloaded("x", vendor_status=503))
    used(meter, "sim", "m", 3, "flex")
    meter.record("completed")
    [event] = recorded(redis)
    assert (event.calls, event.service_tier, event.model_served) == ((), "flex", "m-1")
    assert (event.prompt_source, event.completion_source) == ("vendor", "vendor")


def test_several_calls_that_used_tokens_are_listed(books: Recorder, redis: "Redis") -> None:
    meter = Meter(books, CONTEXT, ASKED)
    used(meter, "sim", "m", 3)
    meter.call("sim", ASKED).failed(VendorOverloaded("x", vendor_status=503))
    used(meter, "spare", "n", 4, "priority")
    meter.record("completed")
    [event] = recorded(redis)
    assert [(c.vendor, c.model, c.model_served, c.service_tier) for c in event.calls] == [
        ("sim", "m", "m-1", None),
        ("spare", "n", "n-1", "priority"),
    ]
    assert [call.usage.prompt_tokens for call in event.calls] == [3, 4]
    assert event.usage == event.calls[0].usage + event.calls[1].usage


@pytest.mark.parametrize("which", ["another deployment", "an earlier call"])
def test_a_single_call_that_the_event_does_not_describe_is_listed(
    books: Recorder, redis: "Redis", which: str
) -> None:
    meter = Meter(books, CONTEXT, ASKED)
    if which == "another deployment":
        used(meter, "spare", "n", 3)
    else:
        used(meter, "sim", "m", 3)
        meter.call("spare", ASKED).failed(VendorOverloaded("x", vendor_status=503))
    meter.record("completed")
    [event] = recorded(redis)
    (call,) = event.calls
    assert (call.vendor, call.usage) == ("spare" if "deployment" in which else "sim", event.usage)


def test_any_user_and_model_can_be_recorded(books: Recorder, redis: "Redis") -> None:
    request = CompletionRequest(
        model="sim/" + "m" * 100_000, prompt="x", user="\0\ud83d" + "u" * 100_000
    )
    meter = Meter(books, CONTEXT, request)
    meter.open()
    call = meter.call("sim", request)
    call.observe(chunk("a", usage=COUNT, model="\ud83dserved\0"))
    meter.record("completed")
    [event] = recorded(redis)
    assert len(event.model) == len(event.user or "") == TEXT_LIMIT
    assert event.usage == COUNT


def test_nothing_is_logged_while_all_is_well(
    books: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        meter = Meter(books, CONTEXT, ASKED)
        meter.open()
        meter.call("sim", ASKED).observe(chunk("generated words", usage=COUNT))
        meter.record("completed")
    assert "secret" not in caplog.text
    assert "generated" not in caplog.text
    assert [line for line in caplog.records if line.levelno >= logging.WARNING] == []
