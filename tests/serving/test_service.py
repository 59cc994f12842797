"""One request in, one metered answer out: the order of things, whole and streamed."""

import threading
from typing import Any

import pytest

from app.serving.service import CompletionService
from app.serving.stream import CompletionStream
from app.usage.messages.event import UsageEvent
from app.vocabulary.completion import Completion, CompletionRequest
from app.vocabulary.errors import (
    InvalidRequest,
    ModelNotFound,
    ShuttingDown,
    VendorFailed,
    VendorOverloaded,
)
from tests.serving.conftest import MakeEngine
from tests.serving.engine import CONTEXT, Engine, asked, entry, in_thread
from tests.support.services.polling import wait_until
from tests.support.vendor import (
    CUT,
    DONE,
    Reply,
    SimulatedVendor,
    body_of,
    choice,
    json_reply,
    stream_reply,
    usage_of,
)

WHOLE = body_of(choice("one two", "stop"), usage=usage_of(2, 3))
TRAILER = body_of(usage=usage_of(2, 3))


@pytest.fixture
def engine(make_engine: MakeEngine, vendor: SimulatedVendor) -> Engine:
    return make_engine(
        entry("first", vendor.url), entry("drains", vendor.url, on_disconnect="read")
    )


def streamed(
    completions: CompletionService, request: CompletionRequest | None = None
) -> CompletionStream:
    return completions.stream(request or asked(stream=True), CONTEXT)


def taken(stream: CompletionStream, chunks: list[Completion] | None = None) -> list[Completion]:
    """Take all of a stream; what comes before a failure is in `chunks`."""
    chunks = [] if chunks is None else chunks
    while (some := stream.take(60.0)) is not None:
        chunks += some
    return chunks


def event_of(engine: Engine) -> UsageEvent:
    wait_until(lambda: engine.events)
    (event,) = engine.events
    return event


def test_a_whole_answer_is_recorded_when_it_has_gone_out_and_not_before(
    engine: Engine, vendor: SimulatedVendor
) -> None:
    vendor.reply(json_reply(WHOLE))
    answer = engine.service().complete(asked(), CONTEXT)
    assert answer.completion.choices[0].text == "one two"
    assert answer.completion.id == "cmpl-vendor"
    assert (answer.attempts, answer.dropped) == (1, ())
    assert answer.completion.usage is not None
    assert answer.completion.usage.total_tokens == 5
    assert engine.events == []
    answer.record()
    assert event_of(engine).status == "completed"


def test_an_answer_without_an_id_gets_one_of_ours(engine: Engine, vendor: SimulatedVendor) -> None:
    vendor.reply(json_reply({**WHOLE, "id": None}))
    answer = engine.service().complete(asked(), CONTEXT)
    answer.record()
    assert answer.completion.id == f"cmpl-{event_of(engine).event_id}"


def test_a_failure_is_recorded_and_says_what_it_took(
    engine: Engine, vendor: SimulatedVendor
) -> None:
    vendor.default = lambda _: json_reply({"error": {"message": "down"}}, 503)
    with pytest.raises(VendorOverloaded) as caught:
        engine.service().complete(asked(), CONTEXT)
    assert caught.value.headers["x-tollgate-attempts"] == "1"
    assert caught.value.billable is False
    event = event_of(engine)
    assert (event.status, event.source, event.attempts) == ("failed", "none", 1)


@pytest.mark.parametrize(
    ("request_", "error"),
    [(asked(model="nobody/m"), ModelNotFound), (asked(prompt=("a",) * 300, n=200), InvalidRequest)],
)
def test_what_cannot_be_asked_for_is_refused_before_anything_is_written(
    make_engine: MakeEngine,
    vendor: SimulatedVendor,
    request_: CompletionRequest,
    error: type[Exception],
) -> None:
    engine = make_engine(entry("first", vendor.url, list_prompts=False))
    with pytest.raises(error):
        engine.service().complete(request_, CONTEXT)
    assert vendor.asked == []
    assert engine.redis.keys("usage:*") == []


def test_a_process_that_leaves_cuts_what_is_under_way_and_begins_nothing(
    engine: Engine, vendor: SimulatedVendor
) -> None:
    vendor.default = lambda _: stream_reply(threading.Event())
    completions, raised = engine.service(), list[BaseException]()

    def ask() -> None:
        try:
            completions.complete(asked(), CONTEXT)
        except BaseException as exc:  # noqa: BLE001 - looked at below
            raised.append(exc)

    thread = in_thread(ask)
    wait_until(lambda: vendor.asked)
    completions.cancel_all()
    thread.join(60)
    assert isinstance(raised[0], ShuttingDown)
    with pytest.raises(ShuttingDown):
        completions.complete(asked(), CONTEXT)
    with pytest.raises(ShuttingDown):
        streamed(completions)
    assert len(vendor.asked) == 1
    assert event_of(engine).status == "failed"


# Streams.


def test_a_stream_gives_its_chunks_then_its_end_and_its_usage(
    engine: Engine, vendor: SimulatedVendor
) -> None:
    pieces = [body_of(choice("one")), body_of(choice(" two")), body_of(choice("", "stop"))]
    vendor.reply(stream_reply(*pieces, TRAILER, DONE))
    stream = streamed(engine.service())
    chunks = taken(stream)
    assert "".join(c.text for chunk in chunks for c in chunk.choices) == "one two"
    assert stream.take(0.0) is None
    last = stream.usage_chunk
    assert (last.choices, last.id) == ((), "cmpl-vendor")
    assert last.usage is not None
    assert last.usage.total_tokens == 5
    assert stream.attempts == 1
    for _ in range(2):
        stream.close()
    event = event_of(engine)
    assert (event.status, event.source) == ("completed", "vendor")


@pytest.mark.parametrize(
    ("steps", "status", "text"),
    [([], "failed", ""), ([body_of(choice("one"))], "truncated", "one")],
)
def test_a_stream_that_breaks_raises_after_what_came(
    engine: Engine, vendor: SimulatedVendor, steps: list[Any], status: str, text: str
) -> None:
    vendor.reply(stream_reply(*steps, CUT))
    stream, chunks = streamed(engine.service()), list[Completion]()
    with pytest.raises(VendorFailed, match="broke off") as caught:
        taken(stream, chunks)
    assert caught.value.headers["x-tollgate-attempts"] == "1"
    assert "".join(c.text for chunk in chunks for c in chunk.choices) == text
    stream.close()
    assert event_of(engine).status == status


def test_a_silence_is_told_and_the_stream_goes_on(engine: Engine, vendor: SimulatedVendor) -> None:
    go_on = threading.Event()
    vendor.reply(stream_reply(go_on, body_of(choice("one", "stop")), TRAILER, DONE))
    stream = streamed(engine.service())
    assert stream.take(0.05) == []
    go_on.set()
    assert [c.text for chunk in taken(stream) for c in chunk.choices] == ["one", ""]
    stream.close()


def test_a_stream_that_is_left_cuts_its_call(engine: Engine, vendor: SimulatedVendor) -> None:
    vendor.reply(stream_reply(body_of(choice("one two three")), threading.Event()))
    stream = streamed(engine.service())
    assert stream.take(60.0)
    stream.close()
    wait_until(lambda: vendor.hang_ups)
    event = event_of(engine)
    assert (event.status, event.source, event.completion_tokens) == ("disconnected", "estimated", 3)


def test_a_stream_that_is_left_is_read_to_its_end_where_its_entry_says_so(
    engine: Engine, vendor: SimulatedVendor
) -> None:
    go_on = threading.Event()
    end = [body_of(choice(" two", "stop")), TRAILER, DONE]
    vendor.reply(stream_reply(body_of(choice("one")), go_on, *end))
    stream = streamed(engine.service(), asked(model="drains/m", stream=True))
    assert stream.take(60.0)
    threading.Timer(0.1, go_on.set).start()
    stream.close()
    event = event_of(engine)
    assert (event.status, event.source, event.total_tokens) == ("disconnected", "read", 5)


def test_of_a_stream_whose_text_is_out_only_the_usage_is_waited_for(
    engine: Engine, vendor: SimulatedVendor
) -> None:
    go_on = threading.Event()
    vendor.reply(stream_reply(body_of(choice("one", "stop")), go_on, TRAILER, DONE))
    stream, chunks = streamed(engine.service()), list[Completion]()
    while not any(c.finish_reason for chunk in chunks for c in chunk.choices):
        chunks += stream.take(0.05) or []
        if any(chunk.choices for chunk in chunks):
            break
    threading.Timer(0.1, go_on.set).start()
    stream.close()
    event = event_of(engine)
    assert (event.source, event.total_tokens) == ("vendor", 5)


def test_a_caller_that_has_the_end_of_every_choice_has_a_whole_answer(
    engine: Engine, vendor: SimulatedVendor
) -> None:
    """Though it leaves before the end mark."""
    vendor.reply(stream_reply(body_of(choice("one", "stop")), TRAILER, DONE))
    stream, chunks = streamed(engine.service()), list[Completion]()
    while not any(c.finish_reason for chunk in chunks for c in chunk.choices):
        chunks += stream.take(60.0) or []
    stream.close()
    event = event_of(engine)
    assert (event.status, event.source, event.total_tokens) == ("completed", "vendor", 5)


def test_a_stream_that_fails_after_its_last_text_was_not_whole_to_a_caller_that_left(
    engine: Engine, vendor: SimulatedVendor
) -> None:
    failed = {"error": {"message": "overloaded", "code": 503}}
    vendor.reply(stream_reply(body_of(choice("one", "stop")), failed, DONE))
    stream, chunks = streamed(engine.service()), list[Completion]()
    while not any(c.finish_reason for chunk in chunks for c in chunk.choices):
        chunks += stream.take(60.0) or []
    stream.close()
    assert event_of(engine).status == "disconnected"


def test_a_caller_that_stays_is_served(engine: Engine, vendor: SimulatedVendor) -> None:
    vendor.reply(stream_reply(0.3, body_of(choice("one", "stop")), TRAILER, DONE))
    stream = engine.service().stream(asked(stream=True), CONTEXT, lambda: False)
    assert [c.text for chunk in taken(stream) for c in chunk.choices] == ["one", ""]
    stream.close()
    assert event_of(engine).status == "completed"


def test_only_so_many_streams_are_read_on_for_nobody(
    engine: Engine, vendor: SimulatedVendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.serving.service.READ_TO_END_LIMIT", 0)
    vendor.reply(stream_reply(body_of(choice("one")), threading.Event()))
    stream = streamed(engine.service(), asked(model="drains/m", stream=True))
    assert stream.take(60.0)
    stream.close()
    wait_until(lambda: vendor.hang_ups)
    assert event_of(engine).source == "estimated"


def test_a_caller_that_left_ends_its_call_while_text_is_to_come(
    engine: Engine, vendor: SimulatedVendor
) -> None:
    vendor.reply(stream_reply(threading.Event()))
    left = threading.Event()
    stream = engine.service().stream(asked(stream=True), CONTEXT, left.is_set)
    wait_until(lambda: vendor.asked)
    left.set()
    wait_until(lambda: vendor.hang_ups)
    stream.close()
    assert event_of(engine).status == "disconnected"


def test_a_whole_answer_comes_as_one_reply(engine: Engine, vendor: SimulatedVendor) -> None:
    reply = json_reply(WHOLE)
    vendor.reply(Reply(reply.body, framing="close"))
    answer = engine.service().complete(asked(), CONTEXT)
    assert answer.completion.choices[0].finish_reason == "stop"
