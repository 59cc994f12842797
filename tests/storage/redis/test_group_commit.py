import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from redis import Redis, RedisError, ResponseError

from app.settings import ROOT
from app.storage.redis.group_commit import GroupCommit
from app.storage.redis.scripts import Script
from tests.support.services.valkey import Valkey

ADD = Script("return redis.call('INCRBY', KEYS[1], ARGV[1])")
ECHO = Script("return ARGV[1]")
REJECT = Script("return redis.error_reply('no ' .. ARGV[1])")


@pytest.fixture(autouse=True)
def new_scripts(redis: "Redis") -> None:
    """Redis knows no script yet."""
    redis.script_flush()


def test_each_call_gets_its_own_result_or_its_own_error(redis: "Redis") -> None:
    commit = GroupCommit(redis)

    def ask(number: int) -> object:
        if number % 5 == 0:
            with pytest.raises(ResponseError, match=f"no {number}"):
                commit.run(REJECT, [], [number])
            return None
        commit.run(ADD, ["sum"], [number])
        return commit.run(ECHO, [], [f"text {number}"])

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(ask, range(500)))
    assert answers == [None if n % 5 == 0 else f"text {n}".encode() for n in range(500)]
    assert int(redis.get("sum") or 0) == sum(n for n in range(500) if n % 5)


def test_calls_that_wait_together_share_one_round_trip(
    redis: "Redis", monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = GroupCommit(redis)
    gate, sizes = threading.Event(), list[int]()
    real = GroupCommit._round_trip

    def slow(self: GroupCommit, batch: list[object]) -> None:
        sizes.append(len(batch))
        gate.wait(30)
        real(self, batch)  # type: ignore[arg-type]

    monkeypatch.setattr(GroupCommit, "_round_trip", slow)
    with ThreadPoolExecutor(10) as pool:
        first = pool.submit(commit.run, ECHO, [], ["first"])
        rest = [pool.submit(commit.run, ECHO, [], [f"{n}"]) for n in range(9)]
        while len(commit._queue) < 9:
            threading.Event().wait(0.01)
        gate.set()
        assert first.result() == b"first"
        assert [call.result() for call in rest] == [f"{n}".encode() for n in range(9)]
    assert [size for size in sizes if size > 1] in ([9], [9, 9])  # once more where unknown


def test_a_redis_that_does_not_know_a_script_is_sent_it(redis: "Redis") -> None:
    commit = GroupCommit(redis)
    assert commit.run(ADD, ["sum"], [1]) == 1
    redis.script_flush()
    assert commit.run(ADD, ["sum"], [1]) == 2


def test_an_unavailable_redis_fails_every_call_and_blocks_none() -> None:
    with Redis.from_url("redis://127.0.0.1:1/0") as nowhere:
        commit = GroupCommit(nowhere)

        def ask(number: int) -> bool:
            with pytest.raises((RedisError, OSError)):
                commit.run(ECHO, [], [number])
            return True

        with ThreadPoolExecutor(10) as pool:
            assert all(pool.map(ask, range(50)))


#: The leader waits for Redis, which is paused; of two that wait for it, the first is killed.
KILLED = """
from gevent import monkey
monkey.patch_all()
import os, sys, gevent
from redis import Redis
from app.storage.redis.group_commit import GroupCommit
from app.storage.redis.scripts import Script

commit = GroupCommit(Redis.from_url(sys.argv[1]))
run = lambda text: commit.run(Script("return ARGV[1]"), [], [text])
run("connected")
os.kill(int(sys.argv[2]), 19)
leader, killed, heir = (gevent.spawn(run, name) for name in ("leader", "killed", "heir"))
gevent.sleep(0.05)
if sys.argv[3] == "waits":
    killed.kill()
else:
    hand_over = commit._hand_over
    commit._hand_over = lambda: (killed.kill(block=False), hand_over())
os.kill(int(sys.argv[2]), 18)
assert isinstance(killed.get(), gevent.GreenletExit)
print(leader.get(), heir.get(), run("later"))
"""


@pytest.mark.parametrize("when", ["waits", "is to lead"])
def test_a_call_that_is_killed_while_it_waits_stops_no_other(tmp_path: Path, when: str) -> None:
    valkey = Valkey(tmp_path).start()
    command = [sys.executable, "-c", KILLED, valkey.url, str(valkey.pid), when]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    valkey.resume()
    valkey.stop()
    assert "b'leader' b'heir' b'later'" in run.stdout, run.stderr
