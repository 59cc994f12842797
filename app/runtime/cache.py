"""Cache: what a slow source returned for the most recently used keys, and for how long it is used.

Does not know the source.
"""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(slots=True)
class Cached(Generic[V]):
    """A value of the source.

    Units: seconds of the owner's clock. `asked_s` is when the source was last asked, `confirmed_s`
    when it was last asked with success.
    """

    value: V
    confirmed_s: float
    asked_s: float

    def is_due(self, now_s: float, max_age_s: float) -> bool:
        """Return whether the caller should ask the source again.

        True for one caller: from then on the others use the old value, even while the source is
        down, for another `max_age_s`.
        """
        if now_s - self.asked_s < max_age_s:
            return False
        self.asked_s = now_s
        return True


class Cache(Generic[K, V]):
    """The `size` most recently used values; thread-safe."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._cached: OrderedDict[K, Cached[V]] = OrderedDict()

    def get(self, key: K) -> Cached[V] | None:
        """Return the cached value of a key; None if there is none."""
        with self._lock:
            cached = self._cached.get(key)
            if cached is not None:
                self._cached.move_to_end(key)
            return cached

    def put(self, key: K, value: V, asked_s: float) -> None:
        """Store what the source returned when it was asked at `asked_s`."""
        with self._lock:
            self._cached[key] = Cached(value, asked_s, asked_s)
            self._cached.move_to_end(key)
            if len(self._cached) > self._size:
                self._cached.popitem(last=False)

    def drop(self, key: K) -> None:
        """Remove a key, if it is there."""
        with self._lock:
            self._cached.pop(key, None)
