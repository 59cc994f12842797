"""Idle connections to vendors, by host, and their age.

Does not know how a connection is opened, or what is sent on it.
"""

import re
import socket
import weakref
from collections import deque
from collections.abc import Callable, Iterable

from app.runtime.sockets import peek
from app.transport.http1.connection import Connection

#: A connection is closed after this many seconds without use. Load balancers drop idle ones
#: without telling either side, most of them after 240 s or more.
IDLE_LIMIT_S = 200.0

#: No connection is used longer than this, in seconds, so that changes of a vendor's DNS take
#: effect.
AGE_LIMIT_S = 300.0

#: How often idle connections are checked, in seconds.
SWEEP_S = 30.0

#: The most recently used one is last.
Idle = deque[Connection]


class ConnectionPool:
    """Keeps connections that can be used again; shared by all threads."""

    def __init__(self, idle_limit: int, clock: Callable[[], float]) -> None:
        self._idle_limit = idle_limit
        self._clock = clock
        self._swept_at_s = clock()
        self._idle: dict[object, Idle] = {}
        weakref.finalize(self, _close_all, self._idle.values())

    def idle(self, key: object) -> Idle:
        """Return the idle connections of one host; `key` identifies it and the way to it."""
        return self._idle.setdefault(key, deque())

    def acquire(
        self, idle: Idle, opened: Callable[[float], socket.socket], connect_s: float
    ) -> Connection:
        """Return the most recently used connection that is still usable, or a new one.

        `opened` opens it within so many seconds.
        Raises: what `opened` raises.
        """
        while idle:
            try:
                connection = idle.pop()
            except IndexError:  # another thread has taken it
                break
            if peek(connection.sock) is None and not _is_old(connection, self._clock()):
                return connection
            connection.close()
        return Connection(opened(connect_s), idle, self._clock())

    def release(self, connection: Connection, hint: str | None) -> None:
        """Keep a connection for the next exchange.

        `hint` is the `keep-alive` header of its last response.
        """
        idle = connection.siblings
        if len(idle) >= self._idle_limit:
            connection.close()
            return
        now_s = connection.idle_since_s = self._clock()
        connection.idle_limit_s = _idle_limit_s(hint) if hint else IDLE_LIMIT_S
        idle.append(connection)
        if now_s - self._swept_at_s >= SWEEP_S:
            self._sweep(now_s)

    def close(self) -> None:
        """Close all idle connections."""
        _close_all(self._idle.values())

    def _sweep(self, now_s: float) -> None:
        """Close the connections that have been idle for too long."""
        self._swept_at_s = now_s
        for idle in tuple(self._idle.values()):
            while idle:
                try:
                    connection = idle.popleft()
                except IndexError:  # another thread has taken it
                    break
                if not _is_old(connection, now_s):
                    idle.appendleft(connection)
                    break
                connection.close()


def _is_old(connection: Connection, now_s: float) -> bool:
    return (
        now_s - connection.idle_since_s >= connection.idle_limit_s
        or now_s - connection.opened_at_s >= AGE_LIMIT_S
    )


_TIMEOUT = re.compile(r"timeout\s*=\s*\"?(\d{1,6})", re.ASCII | re.IGNORECASE)


def _idle_limit_s(hint: str) -> float:
    """Return how long a connection may be idle after a response with `keep-alive: timeout=5`.

    It is a second less than the vendor's limit: a request that crosses the vendor's close is lost.
    """
    found = _TIMEOUT.search(hint)
    return min(IDLE_LIMIT_S, max(0.0, int(found[1]) - 1.0)) if found else IDLE_LIMIT_S


def _close_all(hosts: Iterable[Idle]) -> None:
    for idle in tuple(hosts):
        while idle:
            idle.pop().close()
