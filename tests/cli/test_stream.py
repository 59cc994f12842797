"""Redis, opened for one command."""

from pathlib import Path

import click
import pytest

from app.cli.stream import open_redis
from app.settings import ConfigError
from app.usage.redis.dead_letters import DeadLetterStream
from tests.support.services.valkey import Valkey, as_cluster


def test_it_is_the_redis_of_the_environment(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDIS_URL", redis_url)
    with open_redis() as redis:
        assert DeadLetterStream(redis).count() == 0


def test_a_redis_that_does_not_respond_says_what_to_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", "redis://:secret@127.0.0.1:1/0")
    with pytest.raises(click.ClickException, match="Check REDIS_URL") as caught, open_redis() as it:
        DeadLetterStream(it).count()
    assert caught.value.message[0].isupper()
    assert "secret" not in caught.value.message


def test_a_cluster_is_a_wrong_setting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    server = Valkey(tmp_path, more=as_cluster()).start()
    monkeypatch.setenv("REDIS_URL", server.url)
    try:
        with pytest.raises(ConfigError, match="leads to a cluster"), open_redis():
            pass
    finally:
        server.kill()


def test_no_address_is_a_wrong_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REDIS_URL", raising=False)
    with pytest.raises(ConfigError), open_redis():
        pass
