"""The watchdog: one thread per process that cancels vendor calls at their deadline.

A read timeout is not a deadline: a vendor that sends a keep-alive byte at intervals never triggers
it. The watchdog also cancels calls whose client disconnects while the vendor is silent.
"""

import threading
import time
from typing import Protocol


class Watched(Protocol):
    """Something that is checked at intervals."""

    def check(self, now_s: float) -> None:
        """Cancel it if its deadline has passed; `now_s` is `time.monotonic()`.

        Must not block or raise.
        """
        ...


class Watchdog:
    """Checks its items every `tick_s` seconds, and sleeps while there are none."""

    def __init__(self, tick_s: float = 0.2) -> None:
        self._tick_s = tick_s
        self._watched: set[Watched] = set()
        self._awake = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False

    def watch(self, item: Watched) -> None:
        """Check `item` from now on. The first item starts the thread: call it after any fork."""
        self._watched.add(item)
        if self._thread is None:
            with self._lock:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)
                    self._thread.start()
        if not self._awake.is_set():
            self._awake.set()

    def forget(self, item: Watched) -> None:
        """Stop checking `item`."""
        self._watched.discard(item)

    def close(self) -> None:
        """End the thread once nothing is watched, when no request is left."""
        self._closed = True
        self._awake.set()

    def _run(self) -> None:
        tick = threading.Event()  # never set: a sleep that also runs cooperatively
        while not self._closed or self._watched:
            self._awake.wait()
            tick.wait(self._tick_s)
            now_s = time.monotonic()
            for item in tuple(self._watched):
                item.check(now_s)
            self._awake.clear()
            if self._watched or self._closed:
                self._awake.set()
        self._thread = None
