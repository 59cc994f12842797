"""Runs a check in a thread, so that a service or a name server that hangs delays no start."""

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Check(Generic[T]):
    """A check that runs in the background, and has `within_s` seconds from now."""

    def __init__(self, check: Callable[[], T], within_s: float) -> None:
        self._check = check
        self._deadline_s = time.monotonic() + within_s
        self._result: T | None = None
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="check", daemon=True)
        self._thread.start()

    def result(self) -> T:
        """Wait for the check; return its result, or raise its error.

        Raises: TimeoutError if there is neither in time.
        """
        self._thread.join(max(0.0, self._deadline_s - time.monotonic()))
        if self._error is not None:
            raise self._error
        if self._result is None:
            raise TimeoutError
        return self._result

    def _run(self) -> None:
        try:
            self._result = self._check()
        except Exception as exc:  # noqa: BLE001 - `result` raises it
            self._error = exc
