"""When keys were last used: noted in memory for each request, and stored once a minute.

What was noted since is lost if the process is killed.
"""

import logging
import threading
from collections.abc import Mapping

from sqlalchemy import Connection, Engine, bindparam, or_, update

from app.accounts.apikey import ApiKey, prefix_of
from app.storage.sql.tables import api_keys
from app.storage.sql.transactions import write
from app.vocabulary.errors import LedgerUnavailable

log = logging.getLogger(__name__)

#: How long a use may wait in memory, in seconds.
STORE_EVERY_S = 60.0

#: The longest that a process which shuts down waits for the ledger, in seconds.
CLOSE_S = 2.0

#: A stored time is replaced by one that is later by this much, so that many processes together
#: write about one row per key and minute.
APART_MS = 60_000


class LastUsed:
    """The uses that one process has noted; thread-safe."""

    def __init__(self, engine: Engine, store_every_s: float = STORE_EVERY_S) -> None:
        self._engine = engine
        self._store_every_s = store_every_s
        self._used_ms: dict[str, int] = {}
        self._prefixes: dict[str, str] = {}
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()
        self._is_closed = False

    def note(self, key: ApiKey, secret: str | bytes, now_ms: int) -> None:
        """Note that a key was used; its secret's beginning is stored if it is not known yet."""
        self._used_ms[key.key_id] = now_ms
        if key.secret_prefix is None:
            self._prefixes[key.key_id] = prefix_of(secret)
        if self._timer is None:
            self._begin_timer()

    def store(self) -> None:
        """Store what was noted. If the ledger is unavailable, the next call tries again."""
        self._timer = None
        used_ms, self._used_ms = self._used_ms, {}
        prefixes, self._prefixes = self._prefixes, {}
        if not used_ms:
            return
        try:
            write(self._engine, lambda connection: _store(connection, used_ms, prefixes))
        except LedgerUnavailable as exc:
            log.warning("when keys were last used is not stored yet: %s", exc)
            self._used_ms = used_ms | self._used_ms
            self._prefixes = prefixes | self._prefixes
            self._begin_timer()

    def close(self) -> None:
        """Store what was noted; wait for that for CLOSE_S at most."""
        self._is_closed = True
        timer = self._timer
        if timer is not None:
            timer.cancel()
        last = threading.Thread(target=self.store, daemon=True)
        last.start()
        last.join(CLOSE_S)

    def _begin_timer(self) -> None:
        with self._lock:
            if self._timer is None and not self._is_closed:
                self._timer = threading.Timer(self._store_every_s, self.store)
                self._timer.daemon = True
                self._timer.start()


def _store(connection: Connection, used_ms: Mapping[str, int], prefixes: Mapping[str, str]) -> None:
    # In one order, so that two processes do not wait for each other.
    rows = [{"of": key_id, "used_ms": used_ms[key_id]} for key_id in sorted(used_ms)]
    last = api_keys.c.last_used_at_ms
    is_later = or_(last.is_(None), last <= bindparam("used_ms") - APART_MS)
    used = update(api_keys).where(api_keys.c.key_id == bindparam("of"), is_later)
    connection.execute(used.values(last_used_at_ms=bindparam("used_ms")), rows)
    if prefixes:
        unknown = api_keys.c.secret_prefix.is_(None)
        found = update(api_keys).where(api_keys.c.key_id == bindparam("of"), unknown)
        rows_of = [{"of": key_id, "prefix": prefixes[key_id]} for key_id in sorted(prefixes)]
        connection.execute(found.values(secret_prefix=bindparam("prefix")), rows_of)
