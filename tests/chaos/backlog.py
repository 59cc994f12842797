"""A backlog consumed by one real worker, and the worker's memory in the meantime."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from redis import Redis

from app.storage.redis.keys import EVENTS
from app.storage.sql.engine import create_engine
from app.usage.messages.event_id import new_event_id
from tests.chaos.ledgers import LedgerServer
from tests.chaos.processes import Process
from tests.support.events import usage_event
from tests.support.services.polling import wait_until
from tests.support.services.valkey import Valkey
from tests.workers.contents import entry_count, rolled_up

#: Events published in one round trip.
AT_ONCE = 1000

#: The most that a worker's memory may grow after the first tenth of the backlog, in KiB.
GROWTH_KIB = 20_000


@dataclass(frozen=True)
class Drained:
    """The result of a backlog. Memory is the largest resident set of a process of the worker."""

    events: int
    entries: int
    rolled_up: int
    seconds: float
    early_kib: int
    peak_kib: int

    @property
    def is_good(self) -> bool:
        """Whether each event is in the ledger once, and memory stayed flat."""
        is_flat = self.peak_kib <= self.early_kib + GROWTH_KIB
        return self.entries == self.rolled_up == self.events and is_flat

    def lines(self) -> list[str]:
        """Return the result as lines of text."""
        return [
            f"backlog of {self.events:,} events",
            f"  consumed in  {self.seconds:.0f} s, {self.events / self.seconds:,.0f} events/s",
            f"  ledger       {self.entries:,} entries, {self.rolled_up:,} in rollups",
            f"  memory       {self.early_kib / 1024:.0f} MiB at a tenth,"
            f" {self.peak_kib / 1024:.0f} MiB at most",
        ]


def drain_backlog(root: Path, ledger: LedgerServer, events: int) -> Drained:
    """Fill a Valkey with events, then start a worker and beat, and watch them.

    Raises: TimeoutError.
    """
    valkey = Valkey(root).start()
    env = {
        "REDIS_URL": valkey.url,
        "DATABASE_URL": ledger.url,
    }
    command = ["celery", "--app", "workers.celery_app", "worker", "--beat", "--concurrency", "1"]
    worker = Process("worker", command, env, root / "worker.log")
    engine = create_engine(ledger.url)
    try:
        with Redis.from_url(valkey.url) as redis:
            publish(redis, events)
            worker.start()
            early_kib = _drained_to(redis, worker, events * 9 // 10, 0)
            started_s, count = time.monotonic(), redis.xlen(EVENTS)
            peak_kib = _drained_to(redis, worker, 0, early_kib)
            seconds = (time.monotonic() - started_s) * events / max(1, count)
        return Drained(events, entry_count(engine), rolled_up(engine), seconds, early_kib, peak_kib)
    finally:
        worker.kill()
        engine.dispose()
        valkey.kill()


def publish(redis: "Redis", events: int) -> None:
    """Append events of fifty accounts to the stream, as fast as possible."""
    encoded_events = _encoded(events)
    for _ in range(0, events, AT_ONCE):
        with redis.pipeline(transaction=False) as pipe:
            for encoded in islice(encoded_events, AT_ONCE):
                pipe.xadd(EVENTS, {"event": encoded})
            pipe.execute()


def _encoded(events: int) -> Iterator[bytes]:
    models = [usage_event(account_id=f"account{number}") for number in range(50)]
    forms = [(model.encode(), model.event_id.encode()) for model in models]
    for number in range(events):
        form, event_id = forms[number % len(forms)]
        yield form.replace(event_id, new_event_id().encode())


def _drained_to(redis: "Redis", worker: Process, left: int, peak_kib: int) -> int:
    """Wait until no more than `left` events wait; return the worker's largest process so far."""
    peaks = [peak_kib]

    def is_drained() -> bool:
        peaks.append(max(map(_resident_kib, [worker.pid, *worker.children]), default=0))
        return redis.xlen(EVENTS) <= left

    wait_until(is_drained, every_s=0.1, deadline_s=600)
    return max(peaks)


def _resident_kib(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except FileNotFoundError:  # it has just been replaced
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmRSS")), 0)
