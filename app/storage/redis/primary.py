"""Connections that follow the primary of Redis when it changes.

The primary is behind one address, which leads to another server after a failover, or sentinels know
it (`app.storage.redis.sentinels`). A former primary keeps its connections and rejects every write
for as long as it lives. So if a server answers that it is not the primary, its connection and all
others of the pool are opened again before their next use. No connection gets older than
AGE_LIMIT_S, so that a changed address is noticed. Does not know Tollgate's keys.
"""

import re
import socket
import time
from typing import Any, Protocol

from redis import (
    BusyLoadingError,
    Connection,
    ConnectionError,
    ReadOnlyError,
    ResponseError,
    SSLConnection,
)
from redis.backoff import NoBackoff
from redis.retry import Retry

from app.runtime.sockets import peek

#: A connection of this age is opened again before its next use, in seconds: its address may have
#: moved to another server while the former one lives on.
AGE_LIMIT_S = 60.0

#: Responses of a server that is or became a replica, is cut off, or cannot persist a write. Nothing
#: was done. Redis before version 7 hides a script's own error inside an `ERR`.
_NOT_PRIMARY = re.compile(
    r"(?:^|-)(?:READONLY|MASTERDOWN|CLUSTERDOWN|UNBLOCKED|NOREPLICAS|MISCONF|MOVED|TRYAGAIN)\b"
)


class NotPrimary(ReadOnlyError):
    """This server rejects the command in its present role or state; another one may accept it."""


def retry_elsewhere() -> Retry:
    """Return a retry policy for redis-py: once, on a new connection, if nothing was done."""
    return Retry(NoBackoff(), 1, (NotPrimary, BusyLoadingError))


class PoolAge:
    """Shared by the connections of one pool: those opened before `valid_since_s` are opened again.

    Monotonic seconds.
    """

    def __init__(self) -> None:
        self.valid_since_s = float("-inf")


class Primary(Protocol):
    """Knows where the primary is."""

    def address(self) -> tuple[str, int]:
        """Return its host and port.

        Raises: RedisError.
        """
        ...


class _Following:
    """What both connection classes below add to redis-py's.

    `primary` is asked for the address before each connect; None: the address stays.
    """

    def __init__(
        self,
        *args: Any,
        pool_age: PoolAge | None = None,
        primary: Primary | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._pool_age = pool_age or PoolAge()
        self._primary = primary
        self._since_s = 0.0
        self._connected: socket.socket | None = None

    def _connect(self) -> Any:
        if self._primary is not None:
            self.host, self.port = self._primary.address()
        # Before connecting: the address may move to another server in the meantime.
        self._since_s = time.monotonic()
        self._connected = super()._connect()  # type: ignore[misc]
        return self._connected

    def can_read(self, timeout: float = 0) -> bool:
        """Return whether there is anything to read within so many seconds.

        redis-py uses `select.poll`. In gevent, that waits for the event loop to go round once,
        even for 0 seconds.
        Raises: ConnectionError if the server has closed the connection.
        """
        if timeout or self._connected is None:
            return bool(super().can_read(timeout))  # type: ignore[misc]
        waiting = peek(self._connected)
        if waiting == b"":
            raise ConnectionError("Connection closed by server.")
        # Responses that were received and not read are in the parser, which has no public way in.
        reader = getattr(self._parser, "_reader", None)  # type: ignore[attr-defined]
        return waiting is not None or (reader is not None and bool(reader.has_data()))

    def send_packed_command(self, command: Any, check_health: bool = True) -> None:
        """Send a command, on a new connection if this one is too old or follows a replica."""
        if check_health:  # not during the handshake of a new connection
            oldest_s = max(self._pool_age.valid_since_s, time.monotonic() - AGE_LIMIT_S)
            if self._since_s < oldest_s:
                self.disconnect()  # type: ignore[attr-defined]
        super().send_packed_command(command, check_health)  # type: ignore[misc]

    def read_response(self, *args: Any, **kwargs: Any) -> Any:
        """Return one response.

        Raises: NotPrimary; further responses on this connection are still unread.
        """
        try:
            response = super().read_response(*args, **kwargs)  # type: ignore[misc]
        except ResponseError as exc:
            self._check(exc)
            raise
        if type(response) is list:  # the responses to the commands of a transaction
            for item in response:
                if isinstance(item, ResponseError):
                    self._check(item)
        return response

    def _check(self, error: ResponseError) -> None:
        """Raise NotPrimary if the error means that, and have all connections opened again."""
        if _NOT_PRIMARY.search(f"{error.status_code or ''} {error}".lstrip()):
            self._pool_age.valid_since_s = time.monotonic()
            raise NotPrimary(str(error), status_code=error.status_code) from error


class FollowingConnection(_Following, Connection):
    """A plain connection."""


class FollowingTLSConnection(_Following, SSLConnection):
    """A connection over TLS."""
