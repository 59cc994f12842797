"""The name of a Redis with its processes."""

from redis import Redis

from app.usage.redis.cell import CellIdentity
from tests.support.services.valkey import Valkey


def test_all_processes_of_a_redis_have_one_name(redis: "Redis") -> None:
    name = CellIdentity(redis).read()
    assert CellIdentity(redis).read() == name


def test_a_process_that_knows_the_name_restores_it(redis: "Redis") -> None:
    worker, web = CellIdentity(redis), CellIdentity(redis)
    name = worker.read()
    assert web.read() == name
    redis.flushall()
    assert [web.read(), worker.read(), CellIdentity(redis).read()] == [name] * 3


def test_after_all_processes_and_the_memory_are_gone_it_is_another_cell(redis: "Redis") -> None:
    name = CellIdentity(redis).read()
    redis.flushall()
    assert CellIdentity(redis).read() != name


def test_a_full_redis_still_tells_its_name(own_valkey: Valkey) -> None:
    with Redis.from_url(own_valkey.url) as redis:
        name = CellIdentity(redis).read()
        redis.config_set("maxmemory", 1)
        assert CellIdentity(redis).read() == name
