"""Connections to Redis: one attempt, bounded waits, and a probe that finds out whether it writes.

Does not know the stores that use a connection.
"""

import re

from redis import BlockingConnectionPool, Redis, SSLConnection
from redis.driver_info import DriverInfo

from app.settings import ConfigError
from app.storage.redis.keys import PROBE
from app.storage.redis.primary import (
    FollowingConnection,
    FollowingTLSConnection,
    PoolAge,
    retry_elsewhere,
)
from app.storage.redis.sentinels import SentinelPrimary
from app.storage.redis.url import RedisURL, parse_redis_url

#: Connections of one process, besides the one of its group commit. Hosted plans limit them.
#: Measured: 500 greenlets that make 7,000 calls a second wait 1.6 ms (median) for one of these, and
#: 10 ms with a connection each. A URL may set another number (`?max_connections=5`).
CONNECTIONS = 16

#: How long the probe's key stays, in seconds. Nothing reads it.
PROBE_S = 60


#: What CLIENT LIST says of a connection. Left to itself, redis-py reads its package's metadata for
#: each new connection.
_DRIVER = DriverInfo()


def connect(url: str, timeout_s: float) -> "Redis":
    """Return a client that tries each command once.

    It waits at most `timeout_s` for a free connection, as long for the connect, and as long for the
    response. If the server answers that it is not the primary (any more), the client tries the
    command once more on a new connection. With sentinels, a connect first asks them for the
    primary, which takes about `timeout_s` at most.

    TLS checks the certificate unless the URL has `ssl_cert_reqs=none`.
    Raises: ConfigError if the URL is invalid; the message does not quote the URL.
    """
    parsed = parse_redis_url(url)
    try:
        pool = _pool(parsed, timeout_s)
    except ValueError:
        # The cause may quote the password, so it stays out of the traceback.
        raise ConfigError("REDIS_URL is not a Redis URL (redis://host:port/0)") from None
    try:
        pool.connection_class(**pool.connection_kwargs)  # it does not connect
    except TypeError as exc:
        raise ConfigError(f"REDIS_URL has {_unknown_option(exc)}: correct or remove it") from None
    return Redis.from_pool(pool)


def _unknown_option(error: TypeError) -> str:
    """Return which option of a URL redis-py rejects; one that is not a plain name is not quoted."""
    name = re.search(r"unexpected keyword argument '(\w+)'", str(error))
    return f"an unknown option, `{name[1]}`" if name else "an option that redis-py rejects"


def _pool(url: RedisURL, timeout_s: float) -> BlockingConnectionPool:
    """Return the pool of a client's connections, which follow the primary.

    Raises: ValueError.
    """
    pool_age = PoolAge()
    pool = BlockingConnectionPool.from_url(
        url.server_url,
        max_connections=CONNECTIONS,
        timeout=timeout_s,
        socket_timeout=timeout_s,
        socket_connect_timeout=timeout_s,
        # redis-py's default retries for seconds, while a caller waits for a response.
        retry=retry_elsewhere(),
        pool_age=pool_age,
        primary=SentinelPrimary(url, timeout_s, pool_age) if url.sentinels else None,
        # The pool checks a connection before use anyway; a PING would cost a round trip.
        health_check_interval=0,
        # RESP3 costs each new connection further round trips, and Tollgate needs none of it.
        protocol=2,
        driver_info=_DRIVER,
    )
    is_tls = issubclass(pool.connection_class, SSLConnection)
    pool.connection_class = FollowingTLSConnection if is_tls else FollowingConnection
    return pool


def write_probe(redis: "Redis") -> None:
    """Write a key that nothing reads, to find out whether Redis accepts writes.

    Raises: RedisError, OSError.
    """
    redis.set(PROBE, 1, ex=PROBE_S)
