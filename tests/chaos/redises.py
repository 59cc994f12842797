"""The Redis under test, and its faults: one server, or one with a standby and sentinels."""

import random
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Protocol

from redis import Redis, RedisError

from app.storage.redis.keys import EVENTS
from tests.chaos.fault import MEMORY, Fault, Repair, nothing
from tests.support.services.sentinels import Sentinel, Standby
from tests.support.services.valkey import Valkey

#: Entries that no ledger can store.
POISON: tuple[dict[str, str], ...] = (
    {"event": "not JSON"},
    {"event": '{"event_id": "1"}'},
    {"something": "else"},
)

#: How long each flush of a slow disk takes, in seconds.
SLOW_DISK_S = 3.0


class RedisServer(Protocol):
    """A Redis, of one server or more."""

    @property
    def url(self) -> str:
        """The address, as REDIS_URL spells it."""
        ...

    def client(self) -> "Redis":
        """Return a client of the server that is the primary now."""
        ...

    def faults(self, dice: random.Random) -> Iterator[Fault]:
        """Yield its faults."""
        ...

    def is_whole(self) -> bool:
        """Return whether it can take another fault."""
        ...

    def stop(self) -> None:
        """Stop it."""
        ...


class OneServer:
    """A Valkey with an append-only file."""

    def __init__(self, root: Path) -> None:
        self._folder = root / "redis"
        self._folder.mkdir()
        self._valkey = Valkey(self._folder, persistent=True, durable=True).start()

    @property
    def url(self) -> str:
        """The address."""
        return self._valkey.url

    def client(self) -> "Redis":
        """Return a client."""
        return Redis.from_url(self.url)

    def is_whole(self) -> bool:
        """Return whether it can take another fault."""
        return True

    def stop(self) -> None:
        """Stop it."""
        self._valkey.kill()

    def faults(self, dice: random.Random) -> Iterator[Fault]:
        """Yield what happens to a server, and what it may lose."""
        outages: tuple[tuple[str, Callable[[], Repair]], ...] = (
            ("killed", partial(self._ended, self._valkey.kill)),
            ("stopped", partial(self._ended, self._valkey.stop)),
            ("paused", self._paused),
            ("full", partial(self._set, "maxmemory", "1", "0")),
            ("read-only", partial(self._set, "min-replicas-to-write", "1", "0")),
        )
        for name, strike in outages:
            yield Fault("valkey", f"valkey {name}", strike, (1, 8))
        losses: tuple[tuple[str, Callable[[], Repair]], ...] = (
            ("replaced by an empty one", self._replaced),
            ("of an older backup", self._older),
        )
        if shutil.which("strace") is not None:
            losses += (("killed while its disk was slow", self._slow_and_killed),)
        for name, strike in losses:
            yield Fault("valkey", f"valkey {name}", strike, (1, 8), (MEMORY,))
        yield from of_commands(self.client, dice)

    def _ended(self, end: Callable[[], None]) -> Repair:
        end()
        return self._start

    def _start(self) -> None:
        self._valkey.start()

    def _paused(self) -> Repair:
        self._valkey.pause()
        return self._valkey.resume

    def _set(self, name: str, value: str, usual: str) -> Repair:
        self._configure(name, value)
        return partial(self._configure, name, usual)

    def _configure(self, name: str, value: str) -> None:
        with self.client() as redis:
            redis.config_set(name, value)

    def _replaced(self) -> Repair:
        self._valkey.kill()
        shutil.rmtree(self._data)
        return self._start

    def _older(self) -> Repair:
        backup = self._folder / "backup"
        shutil.copytree(self._data, backup)

        def restore() -> None:
            self._valkey.kill()
            shutil.rmtree(self._data)
            backup.rename(self._data)
            self._valkey.start()

        return restore

    def _slow_and_killed(self) -> Repair:
        self._valkey.stop()
        self._valkey.start(slow_disk_s=SLOW_DISK_S)

        def kill() -> None:
            self._valkey.kill()
            self._valkey.start()

        return kill

    @property
    def _data(self) -> Path:
        return self._folder / "appendonlydir"


class WithStandby:
    """A primary, a replica, and three sentinels."""

    def __init__(self, root: Path) -> None:
        folder = root / "redis"
        folder.mkdir()
        self._standby = Standby(folder)
        self.url = self._standby.url

    def client(self) -> "Redis":
        """Return a client of the primary."""
        return Redis.from_url(self._standby.primary.url)

    def is_whole(self) -> bool:
        """Return whether the replica copies, and each sentinel knows everything."""
        try:
            return all(sentinel.sees_all() for sentinel in self._standby.sentinels)
        except (RedisError, KeyError):  # a sentinel is out, or has just met the replica
            return False

    def stop(self) -> None:
        """Stop everything."""
        self._standby.stop()

    def faults(self, dice: random.Random) -> Iterator[Fault]:
        """Yield the ways to fail over, and faults of the sentinels."""
        failovers: tuple[tuple[str, Callable[[], Repair]], ...] = (
            ("killed", self._killed),
            ("paused", self._paused),
            ("killed, its replica lags", partial(self._lags, dice)),
            ("killed, its replica is empty", self._is_emptied),
        )
        for name, strike in failovers:
            yield Fault("valkey", f"primary {name}", strike, (3, 8), (MEMORY, "sentinel"))
        sentinels = (("killed", Sentinel.kill), ("paused", Sentinel.pause))
        for name, end in sentinels:
            yield Fault("sentinel", f"sentinel {name}", partial(self._without, dice, end), (1, 5))
        yield from of_commands(self.client, dice)

    def _killed(self) -> Repair:
        former = self._standby.primary
        former.kill()
        return partial(start, former)

    def _paused(self) -> Repair:
        former = self._standby.primary
        former.pause()
        return former.resume

    def _lags(self, dice: random.Random) -> Repair:
        former, replica = self._standby.primary, self._standby.replica
        replica.pause()
        with Redis.from_url(former.url) as primary:
            primary.client_kill_filter(_type="replica")

        def fail_over() -> tuple[float, Repair]:
            former.kill()
            replica.resume()
            return dice.uniform(3, 8), partial(start, former)

        return fail_over

    def _is_emptied(self) -> Repair:
        former, replica = self._standby.primary, self._standby.replica
        with Redis.from_url(replica.url) as redis:
            redis.config_set("replica-read-only", "no")
            redis.flushall()
            redis.config_set("replica-read-only", "yes")
        former.kill()
        return partial(start, former)

    def _without(self, dice: random.Random, end: Callable[[Sentinel], None]) -> Repair:
        sentinel = dice.choice(self._standby.sentinels)
        end(sentinel)

        def again() -> None:
            sentinel.kill()
            sentinel.start()

        return again


def start(server: Valkey) -> None:
    """Start a server that has ended."""
    server.start()


def of_commands(client: Callable[[], "Redis"], dice: random.Random) -> Iterator[Fault]:
    """Yield what a command does to a Redis, or another program that uses it."""

    def run(*words: str) -> Repair:
        with client() as redis:
            redis.execute_command(*words)
        return nothing

    def poison() -> Repair:
        with client() as redis:
            redis.xadd(EVENTS, dict(dice.choice(POISON)))
        return nothing

    disconnect = partial(run, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    yield Fault("valkey", "valkey disconnected", disconnect, (1, 8))
    yield Fault("valkey", "poison event", poison, (0, 0))
    yield Fault("valkey", "FLUSHALL", partial(run, "FLUSHALL"), (0, 0), (MEMORY,))
    trim = partial(run, "XTRIM", EVENTS, "MAXLEN", "0")
    yield Fault("valkey", "XTRIM by hand", trim, (0, 0), (MEMORY,))
