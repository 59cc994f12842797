"""Turns exceptions of the Redis client into StreamUnavailable."""

from contextlib import ContextDecorator
from types import TracebackType

from redis import RedisError

from app.vocabulary.errors import StreamUnavailable


class _RedisErrors(ContextDecorator):
    # One shared object, not a generator: every request enters it twice, and a generator costs more.

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

    The message has only the exception's class: Redis's message may contain an address or a user.
    """
    return _ERRORS
