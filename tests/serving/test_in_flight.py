"""What the calls of one request share: their limits, and how they are ended together."""

import math
import threading
import time
from typing import Any, cast

import pytest

from app.serving.in_flight import SIBLINGS_S, InFlightCalls
from app.transport.call import VendorCall
from app.vocabulary.errors import Cancelled, ShuttingDown, VendorFailed


class Call:
    """Stands for a vendor call: what may happen to it from outside."""

    def __init__(self) -> None:
        self.deadline_s = math.inf
        self.ended: list[str] = []

    def cancel(self, reason: str) -> None:
        """Take note of the end."""
        self.ended.append(reason)


def with_calls(count: int, deadline_s: float = math.inf) -> tuple[InFlightCalls, list[Call]]:
    in_flight, calls = InFlightCalls(deadline_s), [Call() for _ in range(count)]
    for call in calls:
        in_flight.add(cast(VendorCall, call))
    return in_flight, calls


@pytest.mark.parametrize(
    ("reason", "error"), [("cancelled", Cancelled), ("shutdown", ShuttingDown)]
)
def test_all_calls_are_cut_for_one_reason_and_none_begins(
    reason: Any, error: type[Exception]
) -> None:
    in_flight, calls = with_calls(2)
    in_flight.raise_if_cancelled()
    in_flight.cancel_all(reason)
    assert [call.ended for call in calls] == [[reason], [reason]]
    with pytest.raises(error):
        in_flight.raise_if_cancelled()


def test_the_first_reason_stands() -> None:
    in_flight, _ = with_calls(0)
    in_flight.cancel_all("shutdown")
    in_flight.cancel_all("cancelled")
    with pytest.raises(ShuttingDown):
        in_flight.raise_if_cancelled()


def test_a_call_that_is_over_is_not_cut() -> None:
    in_flight, (over, open_) = with_calls(2)
    in_flight.discard(cast(VendorCall, over))
    in_flight.cancel_all("cancelled")
    assert (over.ended, open_.ended) == ([], ["cancelled"])


def test_when_one_fails_the_others_have_a_moment_to_say_what_they_cost() -> None:
    in_flight, (first, late) = with_calls(2)
    late.deadline_s = 5.0  # which comes sooner
    before_s = time.monotonic()
    in_flight.sibling_failed(VendorFailed("x"))
    assert before_s + SIBLINGS_S <= first.deadline_s <= time.monotonic() + SIBLINGS_S
    assert late.deadline_s == 5.0
    assert in_flight.limit_s == first.deadline_s
    assert (first.ended, late.ended) == ([], [])
    moment_s = in_flight.limit_s
    in_flight.sibling_failed(VendorFailed("another"))  # no longer for it
    assert in_flight.limit_s == moment_s


@pytest.mark.parametrize("cause", [Cancelled(), ShuttingDown(), RuntimeError("ours")])
def test_when_the_request_itself_is_over_the_others_are_cut(cause: BaseException) -> None:
    in_flight, (call,) = with_calls(1)
    in_flight.sibling_failed(cause)
    assert call.ended == ["cancelled"]
    assert in_flight.limit_s == math.inf


def test_another_attempt_has_its_own_time_within_that_of_all() -> None:
    in_flight, _ = with_calls(1, deadline_s=time.monotonic() + 60)
    assert in_flight.until_s == in_flight.deadline_s
    in_flight.sibling_failed(VendorFailed("x"))
    assert in_flight.until_s == in_flight.limit_s < in_flight.deadline_s
    in_flight.begin_again()
    assert in_flight.until_s == in_flight.deadline_s


def test_a_pause_ends_when_the_calls_do() -> None:
    in_flight, _ = with_calls(0)
    assert in_flight.wait(0.0) is False
    threading.Timer(0.05, in_flight.cancel_all, ["cancelled"]).start()
    started_s = time.monotonic()
    assert in_flight.wait(60.0) is True
    assert time.monotonic() < started_s + 30
