"""The queue between the reader thread and the thread that writes to the client."""

import threading
import time
from collections.abc import Callable

import pytest

from app.serving.channel import Channel, ConsumerClosed
from tests.support.services.polling import wait_until


def in_thread(target: Callable[[], object]) -> threading.Thread:
    """Run `target` in a thread."""
    thread = threading.Thread(target=target, daemon=True)
    thread.start()
    return thread


def test_take_returns_all_that_is_there_in_order() -> None:
    channel = Channel[int](8)
    for item in range(3):
        channel.put(item)
    assert channel.get_all() == [0, 1, 2]
    channel.put(3)
    assert channel.get_all() == [3]


def test_silence_is_an_empty_list_and_not_an_end() -> None:
    channel = Channel[int](1)
    assert channel.get_all(0.01) == []
    assert channel.get_all(0) == []
    assert channel.get_all(-1) == []
    channel.put(1)
    assert channel.get_all(0) == [1]


def test_a_nudge_ends_a_wait_and_only_that() -> None:
    channel, taken = Channel[int](1), list[object]()
    channel.wake()  # nobody waits: it is forgotten
    thread = in_thread(lambda: taken.append(channel.get_all()))
    while thread.is_alive():  # whenever it began to wait
        channel.wake()
    assert taken == [[]]
    channel.wake()
    channel.put(1)
    assert channel.get_all() == [1]


def test_the_end_comes_after_the_last_item_and_stays() -> None:
    channel = Channel[int](2)
    channel.put(1)
    channel.finish()
    assert channel.get_all() == [1]
    assert channel.get_all() is None
    assert channel.get_all(0) is None


def test_an_error_comes_after_the_last_item() -> None:
    channel = Channel[int](2)
    channel.put(1)
    channel.finish(RuntimeError("broken"))
    assert channel.get_all() == [1]
    for _ in range(2):
        with pytest.raises(RuntimeError, match="broken"):
            channel.get_all()


def test_a_waiting_consumer_gets_the_end_at_once() -> None:
    for error in (None, RuntimeError("broken")):
        channel, ends = Channel[int](1), list[object]()

        def consume(channel: Channel[int] = channel, ends: list[object] = ends) -> None:
            try:
                ends.append(channel.get_all())
            except RuntimeError as exc:
                ends.append(exc)

        consumer = in_thread(consume)
        channel.finish(error)
        consumer.join(60)
        assert ends == [error]


def test_a_producer_waits_while_the_queue_is_full() -> None:
    channel, put = Channel[int](2), list[int]()

    def produce() -> None:
        for item in range(5):
            channel.put(item)
            put.append(item)
        channel.finish()

    producer = in_thread(produce)
    wait_until(lambda: len(put) == 2)
    assert channel.get_all() == [0, 1]
    wait_until(lambda: len(put) == 4)
    assert producer.is_alive()
    taken = [0, 1]
    while (items := channel.get_all()) is not None:
        assert 1 <= len(items) <= 2
        taken += items
    assert taken == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("limit", [1, 2, 256])
def test_nothing_is_lost_doubled_or_reordered_between_two_threads(limit: int) -> None:
    channel, count = Channel[int](limit), 20_000

    def produce() -> None:
        for item in range(count):
            channel.put(item)
        channel.finish()

    in_thread(produce)
    taken = []
    while (items := channel.get_all(60)) is not None:
        assert items, "the producer stalled"
        taken += items
    assert taken == list(range(count))


def test_a_producer_whose_consumer_has_left_is_told() -> None:
    channel = Channel[int](8)
    channel.put(1)
    channel.close()
    with pytest.raises(ConsumerClosed):
        channel.put(2)
    channel.finish()  # harmless


def test_a_producer_that_waits_for_room_is_told_that_its_consumer_left() -> None:
    channel, told = Channel[int](1), threading.Event()
    channel.put(1)

    def produce() -> None:
        try:
            channel.put(2)
        except ConsumerClosed:
            told.set()

    in_thread(produce)
    channel.close()
    assert told.wait(60)


def test_a_timeout_is_for_silence_and_counts_from_the_call() -> None:
    channel = Channel[int](8)
    started_s = time.monotonic()
    assert channel.get_all(0.05) == []
    assert time.monotonic() - started_s >= 0.05
