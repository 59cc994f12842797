"""A bounded queue from one producer to one consumer, which takes all that is there at once."""

import threading
import time
from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class ConsumerClosed(Exception):
    """Nobody takes any more; the producer can stop."""


class Channel(Generic[T]):
    """Items in order, then an end: the producer waits while `limit` items are not yet taken.

    Two events and a deque: cheaper per item than `queue.Queue`, in threads and in greenlets.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._items: deque[T] = deque()
        self._filled = threading.Event()
        self._space = threading.Event()
        self._finished = False
        self._gone = False
        self._nudged = False
        self._error: BaseException | None = None

    def put(self, item: T) -> None:
        """Append an item, waiting for room.

        Raises: ConsumerClosed.
        """
        while len(self._items) >= self._limit and not self._gone:
            self._space.clear()
            # Looked at again after the clear: what was taken just before it sets nothing more.
            if len(self._items) >= self._limit and not self._gone:
                self._space.wait()
        if self._gone:
            raise ConsumerClosed
        self._items.append(item)
        self._filled.set()

    def finish(self, error: BaseException | None = None) -> None:
        """End the queue, after what is in it; the consumer gets `error` there."""
        self._error = error
        self._finished = True
        self._filled.set()

    def take(self, timeout_s: float | None = None) -> list[T] | None:
        """Return all that is there, at least one item; None at the end.

        [] after `timeout_s`, or when nudged meanwhile: a timer for each wait costs as much as an
        item.
        Raises: the producer's error, after its last item.
        """
        self._nudged = False
        until_s = None if timeout_s is None else time.monotonic() + timeout_s
        while not self._items and not self._finished:
            self._filled.clear()
            if self._items or self._finished:  # between the look and the clear
                break
            if self._nudged:
                return []
            if not self._filled.wait(None if until_s is None else until_s - time.monotonic()):
                return []
        # What is there now: a producer that keeps up would never let us go.
        taken = [self._items.popleft() for _ in range(len(self._items))]
        self._space.set()
        if taken:
            return taken
        if self._error is not None:
            raise self._error
        return None

    def wake(self) -> None:
        """Have the consumer stop waiting, if it does."""
        self._nudged = True
        self._filled.set()

    def leave(self) -> None:
        """Take no more: the producer's next `put` raises."""
        self._gone = True
        self._space.set()
