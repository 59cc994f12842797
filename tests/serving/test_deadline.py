"""The deadline of one call, with a clock of our own."""

import pytest

from app.serving.deadline import SETTLE_S, Deadline
from app.vendors.vendor import Timeouts

TIMEOUTS = Timeouts(first_token_s=10.0, idle_s=3.0, total_s=60.0)


def deadline(*, streamed: bool = True) -> Deadline:
    """Return the deadline of a call that began at 100 s."""
    return Deadline(TIMEOUTS, 100.0, streamed=streamed)


def test_a_stream_has_time_for_its_first_chunk_then_from_chunk_to_chunk() -> None:
    stream = deadline()
    assert stream.at_s == 110.0
    stream.received(104.0, 104.0, any_chunk=True)
    assert stream.at_s == 107.0
    stream.received(106.0, 106.0, any_chunk=True)
    assert stream.at_s == 109.0


def test_a_deadline_says_which_timeout_it_is() -> None:
    stream = deadline()
    assert stream.limit() == "first_token_s = 10"
    stream.received(104.0, 104.0, any_chunk=True)
    assert stream.limit() == "idle_s = 3"
    stream.received(158.0, 158.0, any_chunk=True)
    assert stream.limit() == "total_s = 60"
    assert deadline(streamed=False).limit() == "total_s = 60"


def test_a_whole_response_has_only_the_total() -> None:
    whole = deadline(streamed=False)
    assert whole.at_s == 160.0
    whole.received(104.0, 104.0, any_chunk=True)
    assert whole.at_s == 160.0


def test_the_total_bounds_a_stream_whose_chunks_keep_coming() -> None:
    stream = deadline()
    for second in range(101, 160):
        stream.received(float(second), float(second), any_chunk=True)
    assert stream.at_s == 160.0


def test_bytes_without_a_chunk_extend_nothing() -> None:
    stream = deadline()
    stream.received(105.0, 105.0, any_chunk=False)
    assert stream.at_s == 110.0
    stream.received(106.0, 106.0, any_chunk=True)
    stream.received(108.0, 108.0, any_chunk=False)
    assert stream.at_s == 109.0


@pytest.mark.parametrize("any_chunk", [True, False])
def test_the_time_of_a_slow_client_does_not_count(any_chunk: bool) -> None:
    stream, whole = deadline(), deadline(streamed=False)
    stream.received(101.0, 121.0, any_chunk=any_chunk)
    whole.received(101.0, 121.0, any_chunk=any_chunk)
    assert stream.at_s == (124.0 if any_chunk else 130.0)
    assert whole.at_s == 180.0


def test_a_complete_response_is_waited_for_a_moment_longer() -> None:
    stream = deadline()
    stream.received(101.0, 101.0, any_chunk=True)
    stream.settle(101.0, again=False)
    assert stream.at_s == 101.0 + SETTLE_S
    stream.settle(101.2, again=False)  # counted from the first time
    assert stream.at_s == 101.0 + SETTLE_S
    stream.settle(101.2, again=True)
    assert stream.at_s == 101.2 + SETTLE_S
    stream.unsettle()
    assert stream.at_s == 104.0


def test_settling_does_not_extend_a_deadline() -> None:
    stream = deadline()
    stream.received(101.0, 101.0, any_chunk=True)
    stream.settle(103.9, again=True)
    assert stream.at_s == 104.0
