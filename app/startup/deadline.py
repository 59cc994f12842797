"""Runs a check in a thread, so that a service or a name server that hangs delays no start."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Check(Generic[T]):
    """A check that runs in the background."""

    def __init__(self, check: Callable[[], T]) -> None:
        self._check = check
        self._result: T | None = None
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="check", daemon=True)
        self._thread.start()

    def result(self, within_s: float) -> T:
        """Return the result of the check, or raise its error.

        Raises: TimeoutError if there is neither within `within_s` seconds.
        """
        self._thread.join(within_s)
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
