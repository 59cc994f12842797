"""Requests that are recorded, and the events of them."""

from pathlib import Path
from typing import Any

from redis import Redis

from app.storage.redis.connection import connect
from app.storage.redis.keys import EVENTS
from app.usage.messages.event import UsageEvent
from app.usage.metering.meter import Meter
from app.usage.metering.request_context import RequestContext
from app.usage.recording.recorder import Recorder
from app.usage.redis.stores import Stores
from app.vocabulary.completion import Choice, Completion, CompletionRequest, Usage
from tests.support.services.valkey import Valkey

CONTEXT = RequestContext(request_id="req_1", account_id="acme", api_key_id="key_1")


ASKED = CompletionRequest(model="sim/m", prompt="secret words of a prompt", stream=True)


COUNT = Usage(prompt_tokens=5, completion_tokens=3, total_tokens=8)


def recorder_of(valkey: Valkey, directory: Path, **options: Any) -> Recorder:
    redis = connect(valkey.url, 2.0)
    return Recorder(Stores.of(redis), directory / "spool", **options)


def still(books: Recorder) -> None:
    """End a recorder's thread: the test does its work."""
    books._closing.set()
    books._wake.set()
    if books._thread is not None:
        books._thread.join(60.0)


def crash(books: Recorder) -> None:
    """Stop a recorder as if its process had been killed: its locks go, and its files stay."""
    still(books)
    books._stores.commit.keeper = None
    for segment in (*books._fallback.spool._closed, books._fallback.spool._present):
        if segment is not None:
            segment.close()
    if books._second_copy is not None:
        for part in books._second_copy.journal._parts:
            part.segment.close()


def request(books: Recorder) -> Meter:
    meter = Meter(books, CONTEXT, ASKED)
    meter.open()
    return meter


def answer(meter: Meter) -> None:
    call = meter.call("sim", ASKED)
    call.observe(Completion("c", 1, "m", (Choice(0, "generated words"),), COUNT))
    meter.record("completed")


def events(redis: "Redis") -> list[UsageEvent]:
    entries: Any = redis.xrange(EVENTS)
    return [UsageEvent.decode(entry[b"event"]) for _, entry in entries]
