"""Exceptions of the Redis client become one error of ours, without its words."""

import pytest
from redis import ConnectionError as RedisConnectionError
from redis import ResponseError

from app.storage.redis.errors import redis_errors
from app.vocabulary.errors import StreamUnavailable


@pytest.mark.parametrize(
    "cause", [RedisConnectionError("secret"), ResponseError("secret"), OSError("secret")]
)
def test_an_error_of_the_client_is_reported_by_its_class_alone(cause: Exception) -> None:
    with pytest.raises(StreamUnavailable) as error, redis_errors():
        raise cause
    assert str(error.value) == f"the usage stream is unavailable ({type(cause).__name__})"
    assert error.value.__cause__ is cause


def test_other_errors_and_results_pass() -> None:
    @redis_errors()
    def divide(by: int) -> float:
        """Divide one."""
        return 1 / by

    assert divide(2) == 0.5
    with pytest.raises(ZeroDivisionError):
        divide(0)
