"""A deployment to inject faults into: two web processes, two workers, beat, Redis, a ledger."""

import contextlib
import http.client
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from sqlalchemy import Engine, select

from app.accounts.accounts import Accounts
from app.storage.redis.keys import EVENTS, OPEN
from app.storage.sql.engine import create_engine
from app.storage.sql.tables import entries
from app.usage.messages.event import UsageEvent
from app.usage.messages.message import UndecodableMessage
from app.usage.redis.dead_letters import DeadLetterStream
from app.usage.redis.processes import OWNER_RENEWAL_S, Processes
from app.vocabulary.errors import StreamUnavailable
from tests.chaos.ledgers import LedgerServer
from tests.chaos.numbers import Numbers, read_numbers
from tests.chaos.processes import Process
from tests.chaos.redises import RedisServer
from tests.chaos.served import ServedCalls
from tests.support.ports import lasting_port
from tests.support.services.polling import wait_until
from tests.support.vendor import SimulatedVendor

#: Two of them differ only in case.
ACCOUNTS = ("acme", "Acme", "globex", "initech")

#: The longest that converging may take, in seconds: far more than it takes, for slow hosts.
SETTLING_S = 240.0

#: The longest that telling what is missing may take after that, in seconds.
TOLD_S = 90.0

VENDORS = """
[vendors.sim]
gateway = "openai"
base_url = "{url}"
retries = 0

[vendors.again]
gateway = "openai"
base_url = "{url}"
retries = 2

[vendors.drain]
gateway = "openai"
base_url = "{url}"
on_disconnect = "read"
retries = 0
"""


@dataclass
class System:
    """All processes and services."""

    root: Path
    redis: RedisServer
    ledger: LedgerServer
    served: ServedCalls
    webs: dict[int, Process]
    workers: list[Process]
    beat: Process
    engine: Engine
    api_key: str
    env: dict[str, str]
    #: Events that the ledger had before an older backup of it was restored.
    undone: set[str] = field(default_factory=set)
    #: Until when requests were opened that Redis alone knows, or may: no journal has them, or the
    #: ledger forgot them. In Unix ms.
    known_alone_ms: int = 0

    @property
    def processes(self) -> list[Process]:
        """All processes of Tollgate."""
        return [*self.webs.values(), *self.workers, self.beat]

    @property
    def traps(self) -> Path:
        """The directory of the traps."""
        return self.root / "traps"

    def keep_up(self, out: Collection[str] = ()) -> None:
        """Restart processes that ended, as a platform does, except those named in `out`."""
        for process in self.processes:
            if process.name not in out:
                process.start()

    def wait_until_up(self) -> None:
        """Wait until every web process is ready for requests."""
        for port in self.webs:
            wait_until(partial(is_ready, port), every_s=0.1, deadline_s=SETTLING_S)

    @property
    def spool(self) -> Path:
        """The directory of the spool and the journals."""
        return self.root / "spool"

    def spools(self) -> bool:
        """Return whether anything waits in the spool."""
        return any(self.spool.glob("*.jsonl"))

    def remove_spool(self) -> None:
        """Remove the directory of the spool; what was in it stays for the judge."""
        if self.spool.exists():
            self.spool.rename(self.root / f"removed{time.monotonic_ns()}")
            self.has_lost_copies(OWNER_RENEWAL_S + 1)  # then each process has a new journal

    def has_lost_copies(self, for_s: float = 0.0) -> None:
        """Take note that Redis alone knows what is opened until some time from now."""
        self.known_alone_ms = time.time_ns() // 1_000_000 + int(for_s * 1000)

    def restore_ledger(self) -> None:
        """Restore the ledger's backup while nothing posts."""
        for process in [*self.workers, self.beat]:
            process.kill()
        before = self.posted()
        self.engine.dispose()
        self.ledger.restore()
        self.undone |= before - self.posted()
        self.has_lost_copies()

    def posted(self) -> set[str]:
        """Return the events that the ledger has."""
        with self.engine.connect() as connection:
            return set(connection.scalars(select(entries.c.event_id)))

    def is_noted(self) -> bool:
        """Whether the ledger has learned what Redis alone knew."""
        if not self.known_alone_ms:
            return True
        with self.redis.client() as redis, contextlib.suppress(StreamUnavailable):
            search = Processes(redis).search()
            return search is not None and search.until_ms > self.known_alone_ms
        return False

    def numbers(self) -> Numbers:
        """Return what was opened, what is posted, and what is told to be missing."""
        with self.redis.client() as redis:
            return read_numbers(self.root, redis, self.engine, self.undone)

    def settle(self) -> float:
        """Wait until nothing is in flight, and what is missing is told; return how long it took.

        In seconds. What is not told after TOLD_S is for the verdict.
        Raises: TimeoutError if something stays in flight.
        """
        started_s = time.monotonic()
        self.wait_until_up()
        wait_until(self._is_empty, every_s=0.1, deadline_s=SETTLING_S)
        with contextlib.suppress(TimeoutError):
            wait_until(self._is_told, every_s=0.5, deadline_s=TOLD_S)
        return time.monotonic() - started_s

    def _is_empty(self) -> bool:
        self.keep_up()
        with self.redis.client() as redis:
            return not (self.spools() or redis.hlen(OPEN) or redis.xlen(EVENTS))

    def _is_told(self) -> bool:
        return self._is_empty() and not any(self.numbers().problems())

    def dead_counts(self) -> tuple[int, int]:
        """Count the dead letters, and those that are valid events."""
        with self.redis.client() as redis:
            found = [is_event(it.raw) for it in DeadLetterStream(redis).entries()]
        return len(found), sum(found)


def is_event(raw: bytes) -> bool:
    """Return whether something is a valid event."""
    try:
        UsageEvent.decode(raw)
    except UndecodableMessage:
        return False
    return True


@contextlib.contextmanager
def running_system(
    root: Path,
    make_redis: Callable[[Path], RedisServer],
    make_ledger: Callable[[Path], LedgerServer],
    seed: int,
    haste: float,
) -> Iterator[System]:
    """Run everything, and stop everything at the end."""
    (root / "traps" / "sprung").mkdir(parents=True)
    with contextlib.ExitStack() as stack:
        served, vendor = ServedCalls(seed), SimulatedVendor()
        vendor.default = served.answer
        stack.callback(vendor.stop)
        redis = make_redis(root)
        stack.callback(redis.stop)
        ledger = make_ledger(root)
        stack.callback(ledger.stop)
        (root / "vendors.toml").write_text(VENDORS.format(url=vendor.url))
        env = {
            "REDIS_URL": redis.url,
            "DATABASE_URL": ledger.url,
            "TOLLGATE_VENDORS": str(root / "vendors.toml"),
            "TOLLGATE_SPOOL_DIR": str(root / "spool"),
            "TOLLGATE_GRACE_S": "3",
            "TOLLGATE_REDIS_TIMEOUT_S": "0.5",
            "CHAOS_TRAPS": str(root / "traps"),
            "CHAOS_HASTE": str(haste),
        }
        engine = create_engine(ledger.url)
        stack.callback(engine.dispose)
        parties = _processes(root, env)
        system = System(root, redis, ledger, served, *parties, engine, _key(engine), env)
        for process in system.processes:
            process.start()
            stack.callback(process.kill)
        system.wait_until_up()
        yield system


def is_ready(port: int) -> bool:
    """Whether a web process is ready for requests."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _processes(
    root: Path, env: dict[str, str]
) -> tuple[dict[int, Process], list[Process], Process]:
    def process(name: str, command: str, **more_env: str) -> Process:
        return Process(name, command.split(), {**env, **more_env}, root / f"{name}.log")

    web = "gunicorn -c config/gunicorn.conf.py tests.chaos.web:app"
    celery = "celery --app tests.chaos.worker"
    worker = f"{celery} worker --concurrency 1 --loglevel info --without-gossip --without-mingle"
    webs = {
        port: process(f"web{at}", web, PORT=str(port))
        for at, port in enumerate((lasting_port(), lasting_port()))
    }
    workers = [process(f"worker{at}", f"{worker} -n worker{at}@chaos") for at in range(2)]
    return webs, workers, process("beat", f"{celery} beat --loglevel info")


def _key(engine: Engine) -> str:
    """Return a key of all accounts."""
    accounts = Accounts(engine)
    for account_id in ACCOUNTS:
        accounts.create(account_id, account_id)
    return accounts.create_key(ACCOUNTS, ["completions"])[1]
