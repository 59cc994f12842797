"""Connects to Redis for one command; its errors become messages and exit code 1."""

from collections.abc import Iterator
from contextlib import contextmanager

import click
from redis import Redis

from app.settings import Settings
from app.storage.redis.cluster import reject_cluster
from app.storage.redis.connection import connect
from app.vocabulary.errors import StreamUnavailable


@contextmanager
def open_redis() -> Iterator["Redis"]:
    """Yield a client of the Redis that the environment names, and close it.

    Raises: ClickException with the next step; ConfigError.
    """
    settings = Settings.from_env()
    with connect(settings.redis_url, settings.redis_timeout_s) as redis:
        reject_cluster(redis)
        try:
            yield redis
        except StreamUnavailable as exc:
            reason = exc.message[:1].upper() + exc.message[1:]
            raise click.ClickException(f"{reason}. Check REDIS_URL, and that Redis runs.") from exc
