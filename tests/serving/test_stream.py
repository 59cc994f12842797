"""One streamed completion: chunks, silence, its end, and clients that disconnect."""

import threading
import time

import pytest

from app.serving.stream import CompletionStream, add_totals, with_id
from app.vocabulary.completion import Completion, CompletionRequest
from app.vocabulary.errors import VendorFailed, VendorOverloaded
from tests.serving.conftest import MakeEngine
from tests.serving.engine import CONTEXT, Engine, asked, entry
from tests.support.services.polling import wait_until
from tests.support.vendor import (
    CUT,
    DONE,
    SimulatedVendor,
    Step,
    body_of,
    choice,
    json_reply,
    stream_reply,
    usage_of,
)

FIRST, SECOND = body_of(choice("one ")), body_of(choice("two", "stop"))
TRAILER = body_of(usage=usage_of(2, 3))


@pytest.fixture
def engine(make_engine: MakeEngine, vendor: SimulatedVendor) -> Engine:
    """An engine with one entry that cancels, and one that reads to the end."""
    reading = entry("reading", vendor.url, on_disconnect="read")
    return make_engine(entry("first", vendor.url), reading)


def started(engine: Engine, request: CompletionRequest | None = None) -> CompletionStream:
    return engine.service().stream(request or asked(stream=True), CONTEXT)


def taken(stream: CompletionStream) -> list[Completion]:
    """Return the chunks of a stream until its end."""
    chunks: list[Completion] = []
    while (some := stream.take(60.0)) is not None:
        chunks += some
    return chunks


def test_chunks_without_choices_are_not_for_the_client(
    engine: Engine, vendor: SimulatedVendor
) -> None:
    vendor.reply(stream_reply(FIRST, SECOND, TRAILER, DONE))
    stream = started(engine)
    chunks = taken(stream)
    stream.close()
    assert all(chunk.choices for chunk in chunks)
    assert "".join(c.text for chunk in chunks for c in chunk.choices) == "one two"
    assert stream.usage_chunk.choices == ()
    assert stream.usage_chunk.id == chunks[-1].id
    usage = stream.usage_chunk.usage
    assert usage is not None
    assert usage.total_tokens == 5


def test_silence_is_an_empty_list_and_a_wake_ends_it(
    engine: Engine, vendor: SimulatedVendor
) -> None:
    go_on = threading.Event()
    vendor.reply(stream_reply(go_on, FIRST, SECOND, TRAILER, DONE))
    stream = started(engine)
    assert stream.take(0.05) == []
    begun_s = time.monotonic()
    threading.Timer(0.05, stream.wake).start()
    assert stream.take(600.0) == []
    assert time.monotonic() - begun_s < 60.0
    go_on.set()
    assert taken(stream)
    stream.close()


@pytest.mark.parametrize(
    ("steps", "status"), [([FIRST, CUT], "truncated"), ([CUT], "failed")], ids=["late", "early"]
)
def test_a_failure_is_raised_after_the_chunks_and_recorded(
    engine: Engine, vendor: SimulatedVendor, steps: list[Step], status: str
) -> None:
    vendor.reply(stream_reply(*steps))
    stream = started(engine)
    with pytest.raises(VendorFailed) as caught:
        taken(stream)
    stream.close()
    stream.close()  # acts once
    wait_until(lambda: engine.events)
    assert [event.status for event in engine.events] == [status]
    assert caught.value.headers["x-tollgate-attempts"] == "1"


def test_a_stream_that_ended_is_completed(engine: Engine, vendor: SimulatedVendor) -> None:
    vendor.reply(stream_reply(FIRST, SECOND, TRAILER, DONE))
    stream = started(engine)
    taken(stream)
    stream.close()
    wait_until(lambda: engine.events)
    assert [(it.status, it.total_tokens) for it in engine.events] == [("completed", 5)]


def test_closing_early_cancels_the_call(engine: Engine, vendor: SimulatedVendor) -> None:
    vendor.reply(stream_reply(FIRST, threading.Event()))
    stream = started(engine)
    assert stream.take(60.0)
    stream.close()
    wait_until(lambda: vendor.hang_ups)
    wait_until(lambda: engine.events)
    assert [event.status for event in engine.events] == ["disconnected"]


def test_closing_early_reads_to_the_end_if_the_entry_says_so(
    engine: Engine, vendor: SimulatedVendor
) -> None:
    vendor.reply(stream_reply(FIRST, 0.2, SECOND, TRAILER, DONE))
    stream = started(engine, asked(model="reading/m", stream=True))
    assert stream.take(60.0)
    stream.close()
    wait_until(lambda: engine.events)
    assert [(it.status, it.total_tokens) for it in engine.events] == [("disconnected", 5)]
    assert vendor.hang_ups == []


def test_an_error_carries_the_attempts_of_the_whole_request(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine = make_engine(entry("first", vendor.url, retries=2))
    vendor.default = lambda _: json_reply({"error": {"message": "busy"}}, 503)
    _, meter, error = engine.run(asked())
    assert isinstance(error, VendorOverloaded)
    error.billable = True
    add_totals(error, meter)
    assert (error.headers["x-tollgate-attempts"], error.billable) == ("3", False)
    add_totals(ValueError("not a vendor's"), meter)


def test_a_completion_without_an_id_gets_that_of_its_event(engine: Engine) -> None:
    meter = engine.meter(asked())
    unnamed, named = Completion("", 1, "m", ()), Completion("c", 1, "m", ())
    assert with_id(unnamed, meter).id == f"cmpl-{meter.event_id}"
    assert with_id(named, meter) is named
