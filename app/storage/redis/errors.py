"""Redis' failures, as ours."""

from contextlib import ContextDecorator
from types import TracebackType

from redis import RedisError

from app.vocabulary.errors import StreamUnavailable


class _RedisErrors(ContextDecorator):
    # A class, and one object of it: every request passes here twice, and a generator is dear.

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, _: TracebackType | None
    ) -> None:
        if isinstance(exc, RedisError | OSError):
            name = type(exc).__name__
            raise StreamUnavailable(f"the usage stream is unavailable ({name})") from exc


_ERRORS = _RedisErrors()


def redis_errors() -> _RedisErrors:
    """Turn what the Redis client raises, in a block or a function, into StreamUnavailable.

    Redis' own words may hold an address or a user name; the class says enough to a caller.
    """
    return _ERRORS
