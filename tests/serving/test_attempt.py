"""One vendor call: what is noted of it, when it is over, and what it may cost."""

import threading
import time
from typing import Any

import pytest

from app.tracing.setup import tracing
from app.usage.messages.event import UsageEvent
from app.usage.metering.meter import Meter
from app.usage.metering.observer import NullObserver
from app.usage.metering.request_context import RequestContext
from app.vendors.vendor import Timeouts
from app.vocabulary.completion import Completion
from app.vocabulary.errors import Cancelled, VendorFailed, VendorOverloaded, VendorTimeout
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
SLACK_S = 10.0


def recorded(engine: Engine, meter: Meter) -> UsageEvent:
    """Record the request, and return its event."""
    meter.record("completed")
    (event,) = engine.events
    return event


@pytest.mark.parametrize(
    ("headers", "known"),
    [
        ({"x-request-id": "a"}, "a"),
        ({"request-id": "b"}, "b"),
        ({"apim-request-id": "c"}, "c"),
        ({"x-amzn-requestid": "d"}, "d"),
        ({"x-amzn-requestid": "d", "request-id": "b"}, "b"),
        ({"x-request-id": "x" * 200}, "x" * 128),
        ({"x-request-id": "caf\x85"}, None),
        ({}, None),
    ],
)
def test_the_vendors_id_of_the_request_is_kept_where_it_can_be_shown(
    make_engine: MakeEngine, vendor: SimulatedVendor, headers: dict[str, str], known: str | None
) -> None:
    engine = make_engine(entry("first", vendor.url))
    reply = json_reply(WHOLE)
    vendor.reply(Reply(reply.body, 201, headers, framing="length"))
    _, meter, error = engine.run(asked())
    assert error is None
    event = recorded(engine, meter)
    assert (event.vendor_request_id, event.http_status) == (known, 201)


def test_a_request_carries_the_callers_trace(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine = make_engine(entry("first", vendor.url))
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    trace = tracing({}).begin("POST /", parent, "x=1")
    context = RequestContext(request_id="r", account_id="a", api_key_id="k", trace=trace)
    meter = Meter(engine.recorder, context, asked())
    engine.calls(asked()).run(meter, lambda _: None)
    engine.run(asked())
    traced, plain = vendor.asked
    assert traced.headers["traceparent"].startswith("00-0af7651916cd43dd8448eb211c80319c-")
    assert traced.body == plain.body
    assert "traceparent" not in plain.headers


def test_a_failure_that_the_vendor_counted_is_recorded_and_not_made_again(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine = make_engine(entry("first", vendor.url, retries=2))
    counted = {"error": {"message": "no"}, "usage": usage_of(7, 5)}
    vendor.reply(json_reply(counted, 500))
    _, meter, error = engine.run(asked())
    assert error is not None
    assert len(vendor.asked) == 1
    event = recorded(engine, meter)
    assert (event.prompt_tokens, event.completion_tokens, event.http_status) == (7, 5, 500)
    assert (event.source, event.model_served) == ("vendor", "m")


def test_a_refusal_that_counts_has_used_nothing(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine = make_engine(entry("first", vendor.url))
    vendor.reply(json_reply({"error": {"message": "no"}, "usage": usage_of(7, 5)}, 400))
    _, meter, _ = engine.run(asked())
    event = recorded(engine, meter)
    assert (event.source, event.total_tokens, event.http_status) == ("none", 0, 400)


def test_a_failure_that_counts_nothing_has_used_nothing(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine = make_engine(entry("first", vendor.url))
    vendor.reply(json_reply({"error": {"message": "no"}}, 500))
    _, meter, error = engine.run(asked())
    assert isinstance(error, VendorFailed | VendorOverloaded)
    assert recorded(engine, meter).source == "none"


def test_a_connection_that_breaks_after_the_end_of_the_answer_breaks_nothing(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine = make_engine(entry("first", vendor.url))
    end = body_of(choice("", "stop"), usage=usage_of(2, 3))
    vendor.reply(stream_reply(body_of(choice("one")), end, CUT))
    chunks, meter, error = engine.run(asked(stream=True))
    assert error is None
    assert "".join(c.text for chunk in chunks for c in chunk.choices) == "one"
    event = recorded(engine, meter)
    assert (event.source, event.total_tokens) == ("vendor", 5)


def test_an_answer_that_breaks_off_has_cost_what_came_of_it(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine = make_engine(entry("first", vendor.url))
    vendor.reply(stream_reply(body_of(choice("one two three")), CUT))
    _, meter, error = engine.run(asked(stream=True))
    assert isinstance(error, VendorFailed)
    assert error.billable
    event = recorded(engine, meter)
    assert (event.source, event.prompt_tokens, event.completion_tokens) == ("estimated", 2, 3)


def test_a_whole_stream_whose_vendor_stays_silent_is_over_soon(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine = make_engine(entry("first", vendor.url))
    end = body_of(choice("one", "stop"), usage=usage_of(2, 3))
    vendor.reply(stream_reply(end, threading.Event()))
    started_s = time.monotonic()
    _, _, error = engine.run(asked(stream=True))
    assert error is None
    assert time.monotonic() < started_s + 0.5 + SLACK_S  # the entry would wait for two minutes


@pytest.mark.parametrize(
    ("timeouts", "stream", "steps"),
    [
        (Timeouts(first_token_s=0.6), True, []),
        (Timeouts(idle_s=0.6), True, [body_of(choice("one"))]),
        (Timeouts(total_s=0.6), True, [body_of(choice("one"))]),
        (Timeouts(total_s=0.6), False, []),
    ],
)
def test_a_vendor_that_keeps_us_waiting_is_given_up(
    make_engine: MakeEngine,
    vendor: SimulatedVendor,
    timeouts: Timeouts,
    stream: bool,
    steps: list[Any],
) -> None:
    engine = make_engine(entry("first", vendor.url, timeouts=timeouts))
    vendor.default = lambda _: stream_reply(*steps, threading.Event())
    started_s = time.monotonic()
    _, _, error = engine.run(asked(stream=stream))
    assert isinstance(error, VendorTimeout)
    assert error.billable
    assert time.monotonic() < started_s + 0.6 + SLACK_S


@pytest.mark.parametrize(
    ("timeouts", "begun"),
    [(Timeouts(first_token_s=0.3), []), (Timeouts(idle_s=0.3), [body_of(choice("one"))])],
)
def test_signs_of_life_that_carry_no_answer_extend_no_deadline(
    make_engine: MakeEngine, vendor: SimulatedVendor, timeouts: Timeouts, begun: list[Any]
) -> None:
    engine = make_engine(entry("first", vendor.url, timeouts=timeouts))
    vendor.reply(stream_reply(*begun, *[b": ping\n\n", 0.05] * 2000))
    started_s = time.monotonic()
    assert isinstance(engine.run(asked(stream=True))[2], VendorTimeout)
    assert time.monotonic() < started_s + 0.3 + SLACK_S


@pytest.mark.parametrize("timeouts", [Timeouts(first_token_s=0.1), Timeouts(idle_s=0.1)])
def test_a_whole_answer_has_the_time_of_all_of_it(
    make_engine: MakeEngine, vendor: SimulatedVendor, timeouts: Timeouts
) -> None:
    engine = make_engine(entry("first", vendor.url, timeouts=timeouts))
    whole = json_reply(WHOLE)
    vendor.reply(Reply([0.5, *whole.body], framing="close"))
    assert engine.run(asked())[2] is None


@pytest.mark.parametrize("has_status", [True, False])
def test_a_call_that_is_cut_may_have_cost_its_prompt(
    make_engine: MakeEngine, vendor: SimulatedVendor, has_status: bool
) -> None:
    engine = make_engine(entry("first", vendor.url))
    held = threading.Event()

    def answered(_: Any) -> Reply:
        if not has_status:
            held.wait(60)
        return stream_reply(held)

    vendor.default = answered
    request = asked(stream=True)
    calls, meter, raised = engine.calls(request), engine.meter(request), list[BaseException]()

    def run() -> None:
        try:
            calls.run(meter, lambda _: None)
        except BaseException as exc:  # noqa: BLE001 - looked at below
            raised.append(exc)

    thread = in_thread(run)
    wait_until(lambda: vendor.asked)
    calls.cancel()
    thread.join(60)
    held.set()
    assert isinstance(raised[0], Cancelled)
    event = recorded(engine, meter)
    assert (event.source, event.prompt_tokens, event.attempts) == ("estimated", 2, 1)


def test_a_call_that_was_never_sent_is_no_attempt(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine = make_engine(entry("first", vendor.url))
    calls, meter = engine.calls(asked()), engine.meter(asked())
    calls.cancel()
    with pytest.raises(Cancelled):
        calls.run(meter, lambda _: None)
    assert vendor.asked == []
    event = recorded(engine, meter)
    assert (event.source, event.attempts) == ("none", 0)


def test_the_prompt_stands_before_what_chat_says_where_the_caller_wants_an_echo(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine = make_engine(entry("first", vendor.url, native=()))
    message = {"role": "assistant", "content": "said"}
    answer = {"index": 0, "message": message, "finish_reason": "stop"}
    vendor.default = lambda _: json_reply(body_of(answer, usage=usage_of(2, 3)))
    texts = [engine.run(asked(echo=echo))[0][0].choices[0].text for echo in (True, False, None)]
    assert texts == ["one twosaid", "said", "said"]


class Noted(NullObserver):
    """Keeps what is unusual of answers."""

    def __init__(self) -> None:
        self.surpluses: list[tuple[str, int]] = []
        self.words: list[tuple[str, str]] = []

    def surplus(self, vendor: str, choices: int) -> None:
        """Keep it."""
        self.surpluses.append((vendor, choices))

    def unknown_reason(self, vendor: str, word: str) -> None:
        """Keep it."""
        self.words.append((vendor, word))


def test_what_is_unusual_of_an_answer_is_told(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine, noted = make_engine(entry("first", vendor.url)), Noted()
    vendor.reply(
        json_reply(body_of(choice("a", "melted"), choice("b", "stop", 1), choice("c", "stop", 2)))
    )
    context = RequestContext(request_id="r", account_id="a", api_key_id="k", observer=noted)
    chunks: list[Completion] = []
    engine.calls(asked()).run(Meter(engine.recorder, context, asked()), chunks.append)
    assert [c.text for chunk in chunks for c in chunk.choices] == ["a"]
    assert noted.words == [("first", "melted")]
    assert noted.surpluses == [("first", 2)]


def test_nothing_unusual_is_told_of_an_answer_as_it_should_be(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine, noted = make_engine(entry("first", vendor.url)), Noted()
    context = RequestContext(request_id="r", account_id="a", api_key_id="k", observer=noted)
    vendor.reply(stream_reply(body_of(choice("a")), body_of(choice("", "stop")), DONE))
    request = asked(stream=True)
    engine.calls(request).run(Meter(engine.recorder, context, request), lambda _: None)
    assert (noted.words, noted.surpluses) == ([], [])
    assert CONTEXT.observer is not noted
