"""Connections to Redis that follow its primary, when that changes behind one address.

A former primary keeps its connections and refuses what is written to it for as long as it lives. So
a connection on which a server says that it is not the one to ask is left, with all others of its
pool; and none grows so old that a new meaning of the address goes unseen. Knows no key of ours.
"""

import re
import time
from typing import Any

from redis import BusyLoadingError, Connection, ReadOnlyError, ResponseError, SSLConnection
from redis.backoff import NoBackoff
from redis.retry import Retry

#: A connection is made again before its next use when it is this old, in seconds: its address may
#: have come to mean another server, while the former one lives on.
AGE_LIMIT_S = 60.0

#: What a server answers that is, or has become, a replica, is cut off, or cannot keep what is
#: written. Nothing was done. Redis before version 7 hides a script's inside an `ERR`.
_REFUSALS = re.compile(
    r"(?:^|-)(?:READONLY|MASTERDOWN|CLUSTERDOWN|UNBLOCKED|NOREPLICAS|MISCONF|MOVED|TRYAGAIN)\b"
)


class NotPrimary(ReadOnlyError):
    """This server does not take the command in its present role or state; another one may."""


def retry_elsewhere() -> Retry:
    """Return redis' own retries: once, on a new connection, and only what was not done at all."""
    return Retry(NoBackoff(), 1, (NotPrimary, BusyLoadingError))


class Pool:
    """What the connections of one pool know together: since when they are good, monotonic time."""

    def __init__(self) -> None:
        self.good_since_s = float("-inf")


class _Following:
    """What both kinds of connections below add to redis'."""

    def __init__(self, *args: Any, together: Pool | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._together = together or Pool()
        self._since_s = 0.0

    def _connect(self) -> Any:
        # Before, not after: the address may change its meaning while we are at it.
        self._since_s = time.monotonic()
        return super()._connect()  # type: ignore[misc]

    def send_packed_command(self, command: Any, check_health: bool = True) -> None:
        """Send a command, on a new connection where this one is to be left."""
        if check_health:  # not amid the greeting of a new one
            least_s = max(self._together.good_since_s, time.monotonic() - AGE_LIMIT_S)
            if self._since_s < least_s:
                self.disconnect()  # type: ignore[attr-defined]
        super().send_packed_command(command, check_health)  # type: ignore[misc]

    def read_response(self, *args: Any, **kwargs: Any) -> Any:
        """Return an answer.

        Raises: NotPrimary; what else was sent on this connection is still to be read.
        """
        try:
            answer = super().read_response(*args, **kwargs)  # type: ignore[misc]
        except ResponseError as exc:
            self._check(exc)
            raise
        if type(answer) is list:  # of a transaction, each command's
            for item in answer:
                if isinstance(item, ResponseError):
                    self._check(item)
        return answer

    def _check(self, error: ResponseError) -> None:
        """Raise NotPrimary where an error says so, and have all connections be left."""
        if _REFUSALS.search(f"{error.status_code or ''} {error}".lstrip()):
            self._together.good_since_s = time.monotonic()
            raise NotPrimary(str(error), status_code=error.status_code) from error


class FollowingConnection(_Following, Connection):
    """A plain connection."""


class FollowingTLSConnection(_Following, SSLConnection):
    """A connection over TLS."""
