"""The watchdog checks what it is given, in one thread, until it is told to forget it."""

import threading
import time

from app.transport.watchdog import Watchdog
from tests.support.services.polling import wait_until


class Item:
    """Notes when it is checked."""

    def __init__(self) -> None:
        self.checked_s: list[float] = []

    def check(self, now_s: float) -> None:
        self.checked_s.append(now_s)


def test_an_item_is_checked_again_and_again_with_the_time() -> None:
    watchdog, item, started_s = Watchdog(tick_s=0.01), Item(), time.monotonic()
    watchdog.watch(item)
    wait_until(lambda: len(item.checked_s) >= 3)
    watchdog.forget(item)
    assert item.checked_s == sorted(item.checked_s)
    assert started_s <= item.checked_s[0] <= time.monotonic()


def test_a_forgotten_item_is_not_checked_and_may_be_watched_again() -> None:
    watchdog, forgotten, other = Watchdog(tick_s=0.01), Item(), Item()
    watchdog.watch(forgotten)
    wait_until(lambda: forgotten.checked_s)
    watchdog.forget(forgotten)
    watchdog.forget(forgotten)
    watchdog.watch(other)
    wait_until(lambda: len(other.checked_s) >= 2)
    count = len(forgotten.checked_s)
    wait_until(lambda: len(other.checked_s) >= 5)
    assert len(forgotten.checked_s) == count
    watchdog.forget(other)
    watchdog.watch(forgotten)
    wait_until(lambda: len(forgotten.checked_s) > count)
    watchdog.forget(forgotten)


def test_one_thread_serves_all_items_and_starts_with_the_first() -> None:
    before = set(threading.enumerate())
    watchdog, items = Watchdog(tick_s=0.01), [Item() for _ in range(20)]
    assert set(threading.enumerate()) <= before
    for item in items:
        watchdog.watch(item)
    wait_until(lambda: all(item.checked_s for item in items))
    (ours,) = set(threading.enumerate()) - before
    assert ours.daemon
    for item in items:
        watchdog.forget(item)


def test_a_closed_watchdog_ends_its_thread_once_nothing_is_watched() -> None:
    before = set(threading.enumerate())
    watchdog, item = Watchdog(tick_s=0.01), Item()
    watchdog.watch(item)
    (ours,) = set(threading.enumerate()) - before
    watchdog.close()
    wait_until(lambda: len(item.checked_s) >= 3)  # a call that goes on keeps its deadline
    watchdog.forget(item)
    wait_until(lambda: not ours.is_alive())
    watchdog.watch(item)  # as may one that begins late
    count = len(item.checked_s)
    wait_until(lambda: len(item.checked_s) > count)
    watchdog.forget(item)


def test_a_closed_watchdog_that_sleeps_ends_its_thread() -> None:
    before = set(threading.enumerate())
    watchdog, item = Watchdog(tick_s=0.01), Item()
    watchdog.watch(item)
    (ours,) = set(threading.enumerate()) - before
    wait_until(lambda: item.checked_s)
    watchdog.forget(item)
    watchdog.close()
    wait_until(lambda: not ours.is_alive())
