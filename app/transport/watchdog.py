"""The watchdog: one thread a process that ends vendor calls whose time is over.

It exists because a read timeout is no deadline: a vendor that sends one keep-alive byte now and
then never trips it. It also notices callers that left while their vendor was silent.
"""

import threading
import time
from typing import Protocol


class Watched(Protocol):
    """Something with an end that must not wait for I/O."""

    def check(self, now_s: float) -> None:
        """End it if its time is over; `now_s` is `time.monotonic()`. Must not block or raise."""
        ...


class Watchdog:
    """Checks everything it watches every `tick_s`; sleeps while there is nothing."""

    def __init__(self, tick_s: float = 0.2) -> None:
        self._tick_s = tick_s
        self._watched: set[Watched] = set()
        self._awake = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def watch(self, item: Watched) -> None:
        """Check `item` from now on. The thread starts with the first one: after any fork."""
        self._watched.add(item)
        if self._thread is None:
            with self._lock:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)
                    self._thread.start()
        if not self._awake.is_set():
            self._awake.set()

    def forget(self, item: Watched) -> None:
        """Check `item` no more."""
        self._watched.discard(item)

    def _run(self) -> None:
        tick = threading.Event()  # never set: a sleep that also runs cooperatively
        while True:
            self._awake.wait()
            tick.wait(self._tick_s)
            now_s = time.monotonic()
            for item in tuple(self._watched):
                item.check(now_s)
            self._awake.clear()
            if self._watched:
                self._awake.set()
