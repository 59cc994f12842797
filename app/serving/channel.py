"""A bounded queue from one producer to one consumer, which gets all waiting items at once."""

import threading
import time
from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class ConsumerClosed(Exception):
    """The consumer has closed the queue; the producer can stop."""


class Channel(Generic[T]):
    """Items in order, then an end; the producer waits while `limit` items are in the queue.

    Two events and a deque: cheaper per item than `queue.Queue`, in threads and in greenlets.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._items: deque[T] = deque()
        self._filled = threading.Event()
        self._space = threading.Event()
        self._finished = False
        self._closed = False
        self._woken = False
        self._error: BaseException | None = None

    def put(self, item: T) -> None:
        """Append an item; wait for space.

        Raises: ConsumerClosed.
        """
        while len(self._items) >= self._limit and not self._closed:
            self._space.clear()
            # Checked again after the clear: a `get_all` just before it will not set the event.
            if len(self._items) >= self._limit and not self._closed:
                self._space.wait()
        if self._closed:
            raise ConsumerClosed
        self._items.append(item)
        self._filled.set()

    def finish(self, error: BaseException | None = None) -> None:
        """End the queue after its last item, where the consumer gets `error`."""
        self._error = error
        self._finished = True
        self._filled.set()

    def get_all(self, timeout_s: float | None = None) -> list[T] | None:
        """Return all waiting items, at least one; None at the end.

        [] after `timeout_s`, or when woken meanwhile: a timer for each wait costs as much as an
        item.
        Raises: the producer's error, after its last item.
        """
        self._woken = False
        until_s = None if timeout_s is None else time.monotonic() + timeout_s
        while not self._items and not self._finished:
            self._filled.clear()
            if self._items or self._finished:  # put between the check and the clear
                break
            if self._woken:
                return []
            if not self._filled.wait(None if until_s is None else until_s - time.monotonic()):
                return []
        # Only the items that wait now: with a producer that keeps up, a loop would never end.
        items = [self._items.popleft() for _ in range(len(self._items))]
        self._space.set()
        if items:
            return items
        if self._error is not None:
            raise self._error
        return None

    def wake(self) -> None:
        """End the consumer's wait, if it waits."""
        self._woken = True
        self._filled.set()

    def close(self) -> None:
        """Stop consuming: the producer's next `put` raises ConsumerClosed."""
        self._closed = True
        self._space.set()
