"""Live prices: a price book that takes changed price files while its process runs.

A look-up of a price never reads the state of a file. `refresh` does, and its callers decide when.
"""

import hashlib
import logging
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path

from app.pricing.price import Price, PriceHistory
from app.pricing.price_book import PriceBook, load_prices
from app.pricing.price_file import DEFAULT_FILE
from app.pricing.snapshot import SNAPSHOT_FILE
from app.settings import ConfigError

#: Seconds between two looks at the files.
CHECK_S = 5.0
#: A file that was written less than this many seconds ago may not be whole yet.
SETTLE_S = 2.0
#: Seconds after which every process has taken a changed file. A worker that posts a backlog looks
#: at the files between two runs, which take 10 s more at most.
TAKEN_WITHIN_S = 10
#: What an empty file may consist of: white space, and a byte-order mark.
_BLANK = b" \t\r\n\xef\xbb\xbf"

#: For each file: time of change (ns), size and inode; None if there is no file.
Signature = tuple[tuple[int, int, int] | None, ...]

log = logging.getLogger(__name__)


class LivePrices:
    """The prices of one process; `book` always has the newest valid ones.

    A process may start with an empty file, but none takes one later: its writer has failed.

    `fault` says why the files as they are now were not taken; None if they were.
    """

    def __init__(self, path: Path | None, *, clock_s: Callable[[], float] = time.monotonic) -> None:
        """Load the prices.

        Raises: ConfigError when the file is invalid.
        """
        self._path = path
        self._clock_s = clock_s
        self._seen = self._taken = _signature(path)
        self._rejected: Signature | None = None
        self._current = load_prices(path)
        self._due_s = clock_s() + CHECK_S
        self._checking = threading.Lock()
        self._closed = threading.Event()
        self.fault: str | None = None
        self.book = PriceBook(self._find, self._unknown, self._context)

    def _find(self, vendor: str, models: tuple[str, ...], tier: str | None) -> PriceHistory:
        return self._current.find(vendor, models, tier)

    def _unknown(self, vendor: str) -> tuple[Price, ...]:
        return self._current.unknown(vendor)

    def _context(self, vendor: str, model: str) -> int | None:
        return self._current.context(vendor, model)

    def refresh(self) -> None:
        """Take the files if they have changed; look at them once in CHECK_S at most.

        Invalid files are logged once, and the prices stay as they are.
        """
        if self._clock_s() < self._due_s or not self._checking.acquire(blocking=False):
            return
        try:
            self._due_s = self._clock_s() + CHECK_S
            self._check()
        finally:
            self._checking.release()

    def watch(self) -> None:
        """Refresh in a thread of this process, until this object is closed or no longer used."""
        args = (weakref.ref(self), self._closed)
        threading.Thread(target=_watch, args=args, name="prices", daemon=True).start()

    def close(self) -> None:
        """End the thread; the prices stay."""
        self._closed.set()

    def _check(self) -> None:
        found = _signature(self._path)
        before, self._seen = self._seen, found
        if found == self._taken:
            self.fault = None
        elif found != self._rejected and (found == before or _is_settled(found)):
            self._take(found)

    def _take(self, found: Signature) -> None:
        try:
            book, version = load_prices(self._path), prices_version(self._path)
            is_empty = self._path is not None and not self._path.read_bytes().strip(_BLANK)
        except (ConfigError, ValueError, KeyError, OSError) as exc:
            self._reject(found, exc)
            return
        if is_empty:  # its disk was full
            self._reject(found, ConfigError(f"the price file {self._path} is empty"))
            return
        if _signature(self._path) != found:  # written while it was read
            return
        self._current, self._taken, self._rejected, self.fault = book, found, None, None
        log.info("took the changed prices, version %s", version)

    def _reject(self, found: Signature, reason: Exception) -> None:
        self._rejected, self.fault = found, "; ".join(str(reason).splitlines())
        log.error("the prices stay as they were, because a price file is invalid: %s", self.fault)


def prices_version(path: Path | None) -> str:
    """Return the version of a price file with the prices that come with Tollgate: 12 hex digits.

    Raises: OSError.
    """
    digest = hashlib.sha256()
    for it in _files(path):
        content = it.read_bytes()
        digest.update(b"%d\n" % len(content) + content)
    return digest.hexdigest()[:12]


def _files(path: Path | None) -> tuple[Path, ...]:
    shipped = (SNAPSHOT_FILE, DEFAULT_FILE)
    return shipped if path is None else (*shipped, path)


def _signature(path: Path | None) -> Signature:
    return tuple(_state(it) for it in _files(path))


def _state(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _is_settled(found: Signature) -> bool:
    """Return whether all files are there, and none was written a moment ago."""
    oldest_ns = time.time_ns() - int(SETTLE_S * 1e9)
    return all(it is not None and it[0] <= oldest_ns for it in found)


def _watch(of: "weakref.ref[LivePrices]", closed: threading.Event) -> None:
    while not closed.is_set() and (prices := of()) is not None:
        prices.refresh()
        del prices
        closed.wait(CHECK_S)
