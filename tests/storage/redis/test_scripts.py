"""Lua scripts from files, on a real Valkey."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from redis import Redis, ResponseError

from app.settings import ROOT
from app.storage.redis.scripts import Script, read_lua, run

ADD = Script("return redis.call('INCRBY', KEYS[1], ARGV[1])")


@pytest.fixture
def redis(redis_url: str) -> Iterator["Redis"]:
    with Redis.from_url(redis_url) as redis:
        redis.script_flush()
        yield redis


def sent(redis: "Redis") -> dict[str, int]:
    """How often each command was called since the statistics were reset."""
    stats: Any = redis.info("commandstats")
    return {name.removeprefix("cmdstat_"): it["calls"] for name, it in stats.items()}


def test_a_script_is_sent_once_and_then_run_by_its_hash(redis: "Redis") -> None:
    redis.config_resetstat()
    assert [run(redis, ADD, ["sum"], [n]) for n in (1, 2, 3)] == [1, 3, 6]
    calls = sent(redis)
    assert calls["script|load"] == 1
    assert calls["evalsha"] == 4  # one of them failed: the script was not known
    assert "eval" not in calls


def test_a_redis_that_forgot_its_scripts_is_sent_them_again(redis: "Redis") -> None:
    assert run(redis, ADD, ["sum"], [1]) == 1
    redis.script_flush()
    assert run(redis, ADD, ["sum"], [1]) == 2


def test_the_error_of_a_script_is_raised(redis: "Redis") -> None:
    with pytest.raises(ResponseError, match="my words"):
        run(redis, Script("return redis.error_reply('my words')"), [])


def test_files_are_joined_in_order_after_the_constants() -> None:
    source = read_lua("app.admission", "levels", "release", UNITS=7)
    assert source.startswith("local UNITS = 7\n")
    assert 0 < source.index("local function level(") < source.index("local function release(")


def test_the_same_source_has_the_name_that_redis_gives_it(redis: "Redis") -> None:
    assert redis.script_load(ADD.source) == ADD.sha


def lua_files() -> list[Path]:
    return sorted((ROOT / "app").rglob("*.lua"))


@pytest.mark.parametrize("path", lua_files(), ids=lambda path: path.stem)
def test_every_script_file_is_shipped_and_used(path: Path) -> None:
    package = ".".join(path.parent.relative_to(ROOT).parts)
    assert f"\n{package} = *.lua\n" in (ROOT / "setup.cfg").read_text()
    modules = "".join(module.read_text() for module in path.parent.glob("*.py"))
    assert re.search(rf'"{path.stem}"', modules)
