"""Turns exceptions of the Redis client into StreamUnavailable."""

import re
from contextlib import ContextDecorator
from types import TracebackType

from redis import RedisError
from redis import TimeoutError as RedisTimeout
from redis.exceptions import OutOfMemoryError

from app.vocabulary.errors import StreamFull, StreamTimeout, StreamUnavailable

#: Redis before version 7 hides a script's own error inside an `ERR`.
_FULL = re.compile(r"(?:^|-)OOM\b")


class _RedisErrors(ContextDecorator):
    # One shared object, not a generator: every request enters it twice, and a generator costs more.

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, _: TracebackType | None
    ) -> None:
        if isinstance(exc, RedisError | OSError):
            name = type(exc).__name__
            raise _kind(exc)(f"the usage stream is unavailable ({name})") from exc


def _kind(exc: BaseException) -> type[StreamUnavailable]:
    if isinstance(exc, RedisTimeout):
        return StreamTimeout
    is_full = isinstance(exc, OutOfMemoryError) or _FULL.search(str(exc))
    return StreamFull if is_full else StreamUnavailable


_ERRORS = _RedisErrors()


def redis_errors() -> _RedisErrors:
    """Turn what the Redis client raises, in a block or a function, into StreamUnavailable.

    The message has only the exception's class: Redis's message may contain an address or a user.
    """
    return _ERRORS
