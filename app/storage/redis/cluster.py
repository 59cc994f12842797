"""Finds out whether a Redis is a cluster, on which Tollgate's scripts do not run.

Does not know the scripts.
"""

from contextlib import suppress

from redis import Redis, RedisError, ResponseError

from app.settings import NO_CLUSTER, ConfigError
from app.storage.redis.keys import EVENTS, OPEN

#: Responses of a cluster to a command with two keys.
_CLUSTER_ERRORS = ("CLUSTERDOWN", "CROSSSLOT", "MOVED", "ASK")


def reject_cluster(redis: "Redis") -> None:
    """Do nothing unless Redis responds, and as a cluster; so this never delays for long.

    Raises: ConfigError with the reason and what to do instead.
    """
    try:
        found = is_cluster(redis)
    except (RedisError, OSError):  # down: processes start without Redis, too
        return
    if found:
        raise ConfigError(f"REDIS_URL leads to a cluster: {NO_CLUSTER}")


def is_cluster(redis: "Redis") -> bool:
    """Return whether Redis is a cluster, even if INFO is not permitted or a proxy hides it.

    Raises: RedisError, OSError.
    """
    with suppress(ResponseError):
        if redis.info("cluster").get("cluster_enabled") == 1:
            return True
    try:
        redis.exists(OPEN, EVENTS)
    except ResponseError as exc:
        return f"{exc.status_code or ''} {exc}".lstrip().startswith(_CLUSTER_ERRORS)
    return False
