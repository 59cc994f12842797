"""Exceptions of the Redis client become one error of ours, without its words."""

import pytest
from redis import ConnectionError as RedisConnectionError
from redis import RedisError, ResponseError
from redis import TimeoutError as RedisTimeout
from redis.exceptions import OutOfMemoryError

from app.storage.redis.errors import redis_errors
from app.vocabulary.errors import StreamFull, StreamTimeout, StreamUnavailable


@pytest.mark.parametrize(
    "cause", [RedisConnectionError("secret"), ResponseError("secret"), OSError("secret")]
)
def test_an_error_of_the_client_is_reported_by_its_class_alone(cause: Exception) -> None:
    with pytest.raises(StreamUnavailable) as error, redis_errors():
        raise cause
    assert str(error.value) == f"the usage stream is unavailable ({type(cause).__name__})"
    assert error.value.__cause__ is cause


@pytest.mark.parametrize(
    ("cause", "kind"),
    [
        (RedisTimeout("Timeout reading from socket"), StreamTimeout),
        (OutOfMemoryError("command not allowed when used memory > 'maxmemory'."), StreamFull),
        # Redis before version 7, of a script.
        (ResponseError("Error running script (call to f_1): @user_script:1: -OOM x"), StreamFull),
        (ResponseError("some ROOM"), StreamUnavailable),
        (RedisConnectionError("refused"), StreamUnavailable),
    ],
)
def test_a_timeout_and_a_full_redis_are_errors_of_their_own(
    cause: RedisError, kind: type[StreamUnavailable]
) -> None:
    with pytest.raises(StreamUnavailable) as error, redis_errors():
        raise cause
    assert type(error.value) is kind


def test_other_errors_and_results_pass() -> None:
    @redis_errors()
    def divide(by: int) -> float:
        """Divide one."""
        return 1 / by

    assert divide(2) == 0.5
    with pytest.raises(ZeroDivisionError):
        divide(0)
