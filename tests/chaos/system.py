"""A deployment to inject faults into: two web processes, two workers, beat, Valkey, a ledger."""

import contextlib
import http.client
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from redis import Redis
from sqlalchemy import Engine

from app.accounts.accounts import Accounts
from app.storage.redis.keys import DEAD, EVENTS, OPEN
from app.storage.sql.engine import create_engine
from tests.chaos.ledgers import LedgerServer
from tests.chaos.processes import Process
from tests.chaos.served import ServedCalls
from tests.support.ports import lasting_port
from tests.support.services.polling import wait_until
from tests.support.services.valkey import Valkey
from tests.support.vendor import SimulatedVendor

#: Two of them differ only in case.
ACCOUNTS = ("acme", "Acme", "globex", "initech")

#: The longest that converging may take, in seconds: far more than it takes, for slow hosts.
SETTLING_S = 240.0

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
    valkey: Valkey
    ledger: LedgerServer
    served: ServedCalls
    webs: dict[int, Process]
    workers: list[Process]
    beat: Process
    engine: Engine
    api_key: str

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

    def settle(self) -> float:
        """Wait until nothing is in flight; return how long that took, in seconds."""
        started_s = time.monotonic()
        with Redis.from_url(self.valkey.url) as redis:
            self.wait_until_up()

            def is_empty() -> bool:
                self.keep_up()
                spooled = any((self.root / "spool").glob("*.jsonl"))
                return not (spooled or redis.hlen(OPEN) or redis.xlen(EVENTS))

            wait_until(is_empty, every_s=0.1, deadline_s=SETTLING_S)
        return time.monotonic() - started_s

    def dead_count(self) -> int:
        """Count the dead letters."""
        with Redis.from_url(self.valkey.url) as redis:
            return int(redis.xlen(DEAD))


@contextlib.contextmanager
def running_system(
    root: Path, make_ledger: Callable[[Path], LedgerServer], seed: int, haste: float
) -> Iterator[System]:
    """Run everything, and stop everything at the end."""
    (root / "traps" / "sprung").mkdir(parents=True)
    with contextlib.ExitStack() as stack:
        served, vendor = ServedCalls(seed), SimulatedVendor()
        vendor.default = served.answer
        stack.callback(vendor.stop)
        valkey = Valkey(root, persistent=True).start()
        stack.callback(valkey.kill)
        ledger = make_ledger(root)
        stack.callback(ledger.stop)
        (root / "vendors.toml").write_text(VENDORS.format(url=vendor.url))
        env = {
            "REDIS_URL": valkey.url,
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
        system = System(root, valkey, ledger, served, *_processes(root, env), engine, _key(engine))
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
