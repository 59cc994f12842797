"""One deployment asked again: after a passing failure, and for choices that it left out."""

import threading
import time
from typing import Any

import pytest

from app.vendors.vendor import Timeouts
from app.vocabulary.errors import Cancelled, VendorFailed, VendorOverloaded, VendorRateLimited
from tests.serving.conftest import MakeEngine
from tests.serving.engine import asked, entry, in_thread
from tests.support.services.polling import wait_until
from tests.support.vendor import (
    CUT,
    DONE,
    Asked,
    Reply,
    SimulatedVendor,
    body_of,
    choice,
    completed,
    json_reply,
    stream_reply,
    usage_of,
)

#: Passes, and is waited for no longer than a moment.
FAILED = json_reply({"error": {"message": "down"}}, 503, retry_after_ms="0")


def only(*indices: int) -> Reply:
    """Answer with these choices and no other."""
    told = [choice(f"text{index}", "stop", index) for index in indices]
    return json_reply(body_of(*told, usage=usage_of(2, len(indices))))


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_a_passing_failure_is_called_again_as_often_as_the_entry_says(
    make_engine: MakeEngine, vendor: SimulatedVendor, retries: int
) -> None:
    engine = make_engine(entry("first", vendor.url, retries=retries))
    vendor.default = lambda _: FAILED
    _, meter, error = engine.run(asked())
    assert isinstance(error, VendorOverloaded)
    assert len(vendor.asked) == retries + 1
    assert meter.attempts == retries + 1


def test_the_last_try_may_succeed(make_engine: MakeEngine, vendor: SimulatedVendor) -> None:
    engine = make_engine(entry("first", vendor.url, retries=2))
    vendor.reply(FAILED, FAILED)
    chunks, _, error = engine.run(asked())
    assert error is None
    assert len(chunks) == 1


@pytest.mark.parametrize(
    "reply",
    [
        json_reply({"error": {"message": "no"}}, 400),
        json_reply({"error": {"message": "no"}}, 401),
        json_reply({"error": {"message": "no"}}, 503, x_should_retry="false"),
        Reply([b"{", CUT]),
    ],
)
def test_what_will_not_pass_or_may_be_billed_is_called_once(
    make_engine: MakeEngine, vendor: SimulatedVendor, reply: Reply
) -> None:
    engine = make_engine(entry("first", vendor.url, retries=2))
    vendor.reply(reply)
    assert engine.run(asked())[2] is not None
    assert len(vendor.asked) == 1


def test_a_stream_that_has_begun_is_not_begun_again(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine = make_engine(entry("first", vendor.url, retries=2))
    failed = {"error": {"message": "overloaded", "code": 503}}
    vendor.reply(stream_reply(body_of(choice("one")), failed))
    chunks, _, error = engine.run(asked(stream=True))
    assert error is not None
    assert len(chunks) == len(vendor.asked) == 1


def test_a_stream_that_fails_before_its_first_piece_is_begun_again(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine = make_engine(entry("first", vendor.url, retries=2))
    vendor.reply(stream_reply({"error": {"message": "overloaded", "code": 503}}))
    assert engine.run(asked(stream=True))[2] is None
    assert len(vendor.asked) == 2


def test_a_longer_pause_than_the_caller_is_kept_waiting_for_is_the_callers(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine = make_engine(entry("first", vendor.url, retries=2))
    vendor.reply(json_reply({}, 429, retry_after="3"))
    error = engine.run(asked())[2]
    assert isinstance(error, VendorRateLimited)
    assert error.headers["retry-after"] == "3"
    assert len(vendor.asked) == 1


def test_a_pause_that_would_pass_the_deadline_is_not_begun(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine = make_engine(entry("first", vendor.url, retries=2, timeouts=Timeouts(total_s=1.0)))
    vendor.reply(json_reply({}, 429, retry_after="2"))
    started_s = time.monotonic()
    assert isinstance(engine.run(asked())[2], VendorRateLimited)
    assert len(vendor.asked) == 1
    assert time.monotonic() < started_s + 1.0 + 5.0


def test_nothing_is_called_again_after_the_deadline(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine = make_engine(entry("first", vendor.url, retries=2, timeouts=Timeouts(total_s=0.2)))
    vendor.default = lambda _: FAILED
    calls, planned_s = engine.calls(asked()), time.monotonic()
    wait_until(lambda: time.monotonic() > planned_s + 0.2)
    with pytest.raises(VendorOverloaded):
        calls.run(engine.meter(asked()), lambda _: None)
    assert len(vendor.asked) == 1


def test_a_caller_that_leaves_ends_the_pause(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine = make_engine(entry("first", vendor.url, retries=9))
    vendor.default = lambda _: json_reply({}, 429, retry_after="2")
    calls, raised = engine.calls(asked()), list[BaseException]()

    def run() -> None:
        try:
            calls.run(engine.meter(asked()), lambda _: None)
        except BaseException as exc:  # noqa: BLE001 - looked at below
            raised.append(exc)

    thread = in_thread(run)
    wait_until(lambda: vendor.asked)
    calls.cancel()
    thread.join(60)
    assert isinstance(raised[0], VendorRateLimited | Cancelled)
    assert len(vendor.asked) == 1


def test_a_client_that_disconnects_during_the_pause_costs_no_further_call(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine = make_engine(entry("first", vendor.url, retries=9))
    vendor.reply(json_reply({}, 429, retry_after="1"))  # the next call would be answered
    chunks, meter, error = engine.run(
        asked(stream=True), client_disconnected=lambda: len(vendor.asked) > 0
    )
    assert isinstance(error, Cancelled)
    assert (len(vendor.asked), chunks, meter.source) == (1, [], "none")


# Choices that a vendor left out.


def test_missing_choices_are_asked_for_again_and_come_to_their_places(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine = make_engine(entry("first", vendor.url))
    vendor.reply(only(0, 1), only(0))
    chunks, meter, error = engine.run(asked(n=3, seed=5))
    assert error is None
    told = sorted((c.index, c.text) for chunk in chunks for c in chunk.choices)
    assert told == [(0, "text0"), (1, "text1"), (2, "text0")]
    assert [(call.body.get("n"), call.body["seed"]) for call in vendor.asked] == [(3, 5), (None, 7)]
    assert meter.attempts == 2
    assert meter.usage.completion_tokens == 3


def test_they_are_asked_for_twice_more_and_then_the_answer_has_failed(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine = make_engine(entry("first", vendor.url))
    vendor.default = lambda _: only(0)
    vendor.reply(only(0), json_reply(body_of(usage=usage_of(2, 0))))
    vendor.default = lambda _: json_reply(body_of(usage=usage_of(2, 0)))
    _, _, error = engine.run(asked(n=2))
    assert isinstance(error, VendorFailed)
    assert "sent 1 of 2 choices" in error.message
    assert len(vendor.asked) == 3


def test_a_failure_on_the_way_leaves_them_missing(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine = make_engine(entry("first", vendor.url))
    vendor.reply(only(0))
    vendor.default = lambda _: json_reply({"error": {"message": "no more"}}, 400)
    _, _, error = engine.run(asked(n=3))
    assert isinstance(error, VendorFailed)
    assert "sent 1 of 3 choices" in error.message


def test_one_that_broke_off_is_told_as_it_is(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine = make_engine(entry("first", vendor.url))
    vendor.reply(
        stream_reply(body_of(choice("a", "stop", 0)), DONE),
        stream_reply(body_of(choice("b")), CUT),
    )
    _, _, error = engine.run(asked(n=2, stream=True))
    assert isinstance(error, VendorFailed)
    assert "choices" not in error.message


def test_nothing_is_asked_for_again_after_the_deadline(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine = make_engine(entry("first", vendor.url, timeouts=Timeouts(total_s=0.3)))
    vendor.default = lambda _: only(0)
    calls, planned_s = engine.calls(asked(n=2)), time.monotonic()
    wait_until(lambda: time.monotonic() > planned_s + 0.3)
    with pytest.raises(VendorFailed, match="1 of 2"):
        calls.run(engine.meter(asked(n=2)), lambda _: None)
    assert len(vendor.asked) == 1


def test_the_whole_answer_is_one_call_where_nothing_is_missing(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine = make_engine(entry("first", vendor.url, retries=2))
    chunks, meter, error = engine.run(asked(prompt=("a", "b"), n=2))
    assert error is None
    assert sorted(c.index for chunk in chunks for c in chunk.choices) == [0, 1, 2, 3]
    assert (len(vendor.asked), meter.attempts) == (1, 1)


def test_a_process_that_leaves_asks_for_nothing_more(
    make_engine: MakeEngine, vendor: SimulatedVendor
) -> None:
    engine = make_engine(entry("first", vendor.url))
    calls, held, raised = engine.calls(asked(n=2)), threading.Event(), list[BaseException]()

    def answered(call: Asked) -> Reply:
        if call.body.get("n"):
            return only(0)
        calls.cancel("shutdown")
        held.wait(60)
        return completed(call.body)

    vendor.default = answered

    def run() -> None:
        try:
            calls.run(engine.meter(asked(n=2)), lambda _: None)
        except BaseException as exc:  # noqa: BLE001 - looked at below
            raised.append(exc)

    thread: Any = in_thread(run)
    thread.join(60)
    held.set()
    assert [type(exc).__name__ for exc in raised] == ["ShuttingDown"]


@pytest.mark.parametrize("n", [1, 2])
def test_an_answer_without_any_choice_has_failed_and_is_not_paid_for_again(
    make_engine: MakeEngine, vendor: SimulatedVendor, n: int
) -> None:
    engine = make_engine(entry("first", vendor.url))
    vendor.default = lambda _: json_reply(body_of(usage=usage_of(2, 0)))
    _, _, error = engine.run(asked(n=n))
    assert isinstance(error, VendorFailed)
    assert f"sent 0 of {n} choices" in error.message
    assert len(vendor.asked) == 1
