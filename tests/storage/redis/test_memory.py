"""How full a real Valkey is."""

import pytest
from redis import Redis

from app.storage.redis import memory as memory_module
from app.storage.redis.connection import connect
from app.storage.redis.memory import MemoryShare
from app.vocabulary.errors import StreamUnavailable
from tests.support.services.full import fill
from tests.support.services.valkey import Valkey


@pytest.fixture
def redis_url(own_valkey: Valkey) -> str:
    """Redis is the test's own here."""
    return own_valkey.url


def test_without_a_limit_nothing_of_it_is_used(redis: "Redis") -> None:
    share = MemoryShare(redis)
    share.add(1 << 40)
    assert share.get() == 0


def test_the_share_is_cached_and_counts_what_is_written_meanwhile(
    redis: "Redis", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_module, "CACHE_S", 3600.0)
    redis.config_set("maxmemory", 100_000_000)
    share = MemoryShare(redis)
    before = share.get()
    assert 0 < before < 0.1
    fill(redis)
    assert share.get() == before
    share.add(50_000_000)
    assert share.get() == pytest.approx(before + 0.5)
    monkeypatch.setattr(memory_module, "CACHE_S", 0.0)
    assert share.get() > 1


def test_a_redis_that_forbids_info_counts_as_empty(redis: "Redis") -> None:
    redis.config_set("maxmemory", 1)
    redis.execute_command("ACL", "SETUSER", "default", "-info")  # type: ignore[no-untyped-call]
    assert MemoryShare(redis).get() == 0


def test_without_redis_the_share_is_unknown(own_valkey: Valkey) -> None:
    with connect(own_valkey.url, 5.0) as redis:
        own_valkey.kill()
        with pytest.raises(StreamUnavailable):
            MemoryShare(redis).get()
