"""Asks Redis Sentinel for the address of the primary, whenever a connection is opened.

Does not know Tollgate's keys.
"""

import threading
import time

from redis import RedisError
from redis.backoff import NoBackoff
from redis.connection import parse_url
from redis.retry import Retry
from redis.sentinel import Sentinel

from app.storage.redis.primary import PoolAge
from app.storage.redis.url import RedisURL


def sentinel_options(url: RedisURL, timeout_s: float) -> dict[str, object]:
    """Return redis-py's options for a connection to a sentinel: one attempt, bounded waits.

    All sentinels together may take about `timeout_s`, even if each of them hangs. TLS is as for the
    servers.
    """
    each_s = timeout_s / len(url.sentinels)
    tls = {k: v for k, v in parse_url(url.server_url).items() if k.startswith("ssl_")}  # type: ignore[no-untyped-call]
    return {
        **url.sentinel_login,
        **({"ssl": True, **tls} if url.has_tls else {}),
        "socket_timeout": each_s,
        "socket_connect_timeout": each_s,
        "protocol": 2,
        "retry": Retry(NoBackoff(), 0),
    }


class SentinelPrimary:
    """The primary of one master name; the connections of a pool share it.

    redis-py's Sentinel moves the one that responds to the front of its list, which is not safe in
    several threads: one looks at a time. Those that wait share the next look.
    """

    def __init__(self, url: RedisURL, timeout_s: float, pool_age: PoolAge) -> None:
        options = sentinel_options(url, timeout_s)
        self._sentinel = Sentinel(url.sentinels, sentinel_kwargs=options)  # type: ignore[no-untyped-call]
        self._master_name = url.master_name
        self._pool_age = pool_age
        self._lock = threading.Lock()
        self._began_s = float("-inf")
        self._found: tuple[str, int] | RedisError | None = None
        self._latest: tuple[str, int] | None = None

    def address(self) -> tuple[str, int]:
        """Return the host and port of the primary, as a sentinel has them at the moment.

        If they have changed, all connections that the pool has are opened again before their next
        use: a former primary may accept writes until it learns of its successor, and drop them.
        Raises: RedisError if no sentinel responds, or none has a primary that is up.
        """
        asked_s = time.monotonic()
        with self._lock:
            if self._began_s < asked_s:
                self._began_s, self._found = time.monotonic(), None
                self._found = self._look()
            found = self._found
        if isinstance(found, tuple):
            return found
        raise found or RedisError("the look for a primary was interrupted")

    def _look(self) -> tuple[str, int] | RedisError:
        try:
            host, port = self._sentinel.discover_master(self._master_name)  # type: ignore[no-untyped-call]
        except RedisError as exc:
            return exc
        if self._latest not in (None, (host, port)):
            self._pool_age.valid_since_s = time.monotonic()
        self._latest = (host, port)
        return host, port
