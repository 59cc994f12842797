"""Redis' failures, as ours."""

from collections.abc import Iterator
from contextlib import contextmanager

from redis import RedisError

from app.errors import StreamUnavailable


@contextmanager
def redis_errors() -> Iterator[None]:
    """Turn what the Redis client raises into StreamUnavailable.

    Redis' own words may hold an address or a user name; the class says enough to a caller.
    """
    try:
        yield
    except (RedisError, OSError) as exc:
        raise StreamUnavailable(f"the usage stream is unavailable ({type(exc).__name__})") from exc
