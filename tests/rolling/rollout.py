"""One installation whose processes are replaced by those of another version, one after another."""

import contextlib
import os
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from redis import Redis

from app.storage.redis.keys import DEAD, EVENTS, LIMITS, OPEN, OWNER, RESERVED
from app.storage.sql.engine import create_engine
from app.storage.sql.tables import entries
from app.usage.messages.open_record import OpenRecord
from tests.chaos.processes import Process
from tests.chaos.system import ACCOUNTS, VENDORS, is_ready
from tests.chaos.verdict import verdict
from tests.rolling.load import HELD_WORDS, HoldingVendor, Load
from tests.rolling.versions import MARK, NEWER, Version
from tests.support.ports import lasting_port
from tests.support.services.polling import has_exited, wait_until
from tests.support.services.valkey import Valkey
from tests.support.vendor import SimulatedVendor

#: How long `tollgate reconcile` may find something after the end of the load, in seconds: a newer
#: worker has to find out what an older one has posted.
RECONCILE_S = 90.0

#: The account with limits of every kind; none of them is reached.
LIMITED = ACCOUNTS[0]

#: Creates the accounts and their key with the version that runs it, and prints the key.
SETUP = f"""
from app.accounts.accounts import Accounts
from app.cli.ledger import open_ledger
with open_ledger() as engine:
    accounts = Accounts(engine)
    for account_id in {ACCOUNTS}:
        accounts.create(account_id, account_id)
    rates = {{"requests_per_minute": 10**6, "tokens_per_minute": 10**8, "streams": 1000}}
    accounts.set_limits("account", {LIMITED!r}, **rates, budget_nanousd=10**12)
    print(accounts.create_key({ACCOUNTS}, ["completions", "usage"])[1])
"""

PRICES = '[[prices]]\nmodel = "*/m"\ninput = 1.0\noutput = 2.0\n'

WEB = "gunicorn -c config/gunicorn.conf.py app.wsgi:app"
CELERY = "celery --app workers.celery_app"
WORKER = f"{CELERY} worker --concurrency 1 --loglevel info --without-gossip --without-mingle"
BEAT = f"{CELERY} beat --loglevel info"


@dataclass
class Member:
    """A process of the installation; `port` is a web process's."""

    version: Version
    process: Process
    port: int = 0

    @property
    def log(self) -> str:
        """What it has written so far."""
        return self.process.log.read_text()


@dataclass
class Rollout:
    """The installation. `env` is the environment of all its processes."""

    root: Path
    env: dict[str, str]
    redis: "Redis"
    vendor: HoldingVendor
    load: Load
    members: list[Member] = field(default_factory=list)
    _former: list[Member] = field(default_factory=list)

    def web(self, version: Version) -> Member:
        """Start a web process and put it in service."""
        port = lasting_port()
        web = self._start(version, "web", WEB, port, PORT=str(port))
        wait_until(lambda: is_ready(port) or has_exited(web.process.pid), every_s=0.1)
        assert is_ready(port), web.log
        self.load.ports = [*self.load.ports, port]
        return web

    def worker(self, version: Version) -> Member:
        """Start a worker and wait until it takes tasks."""
        worker = self._start(version, "worker", WORKER)
        wait_until(lambda: " ready." in worker.log or has_exited(worker.process.pid), every_s=0.1)
        assert " ready." in worker.log, worker.log
        return worker

    def beat(self, version: Version) -> Member:
        """Start beat."""
        return self._start(version, "beat", BEAT)

    def _start(
        self, version: Version, role: str, command: str, port: int = 0, **more_env: str
    ) -> Member:
        name = f"{role}{len(self.members) + len(self._former)}-{version.name}"
        if role == "worker":
            command += f" -n {name}@rolling"
        env = {**version.env, **self.env, **more_env}
        process = Process(name, command.split(), env, self.root / f"{name}.log", version.root)
        member = Member(version, process, port)
        self.members.append(member)
        process.start()
        return member

    def stop(self, *members: Member) -> None:
        """Take processes out of service and end them, as a platform does."""
        for member in members:
            self._take_out(member)
            member.process.leave()
        for member in members:
            pid = member.process.pid
            wait_until(lambda pid=pid: has_exited(pid))  # type: ignore[misc]
            self._gone(member)

    def kill(self, member: Member) -> None:
        """Kill a process and its children, as a host that fails does."""
        self._take_out(member)
        self._gone(member)

    def _take_out(self, member: Member) -> None:
        self.load.ports = [port for port in self.load.ports if port != member.port]

    def _gone(self, member: Member) -> None:
        member.process.kill()
        self.members.remove(member)
        self._former.append(member)

    def kill_all(self) -> None:
        """Kill what still runs."""
        for member in [*self.members]:
            self._gone(member)

    def migrate(self, version: Version) -> None:
        """Run the release step of a version."""
        version.tollgate("db", "upgrade", env=self.env)

    def held(self, tags: Sequence[str]) -> dict[str, OpenRecord]:
        """Wait for checkpoints of held streams; return the open records by event id."""
        found: dict[str, OpenRecord] = {}

        def are_checkpointed() -> bool:
            raw: Any = self.redis.hvals(OPEN)
            records = [OpenRecord.decode(it) for it in raw]
            found.update({it.event_id: it for it in records if it.user in tags})
            counts = [it.completion_tokens for it in found.values()]
            return counts == [HELD_WORDS] * len(tags)

        wait_until(are_checkpointed, every_s=0.1)
        return found

    def die(self, records: dict[str, OpenRecord], web: Member, *, whole: bool = False) -> None:
        """Kill the web process that serves some open requests; if `whole`, with its master.

        Its last heartbeat is deleted, as if it had died 30 s ago.
        """
        (owner,) = {it.owner for it in records.values()}
        assert owner is not None
        pid = int(owner.rsplit("-", 2)[1])
        assert pid in web.process.children
        if whole:
            self.kill(web)
        else:
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: has_exited(pid))
        self.redis.delete(OWNER + owner)

    def wait_until_reaped(self, records: dict[str, OpenRecord], worker: Member) -> None:
        """Wait until a worker, the only one, has replaced open records by `abandoned` events."""
        assert [it for it in self.members if "worker" in it.process.name] == [worker]
        wait_until(lambda: not any(self.redis.hexists(OPEN, it) for it in records))
        wait_until(lambda: "estimated events of crashed processes" in worker.log)

    def settle(self) -> None:
        """End the load, and wait until nothing is in flight and the newer version is content."""
        self.load.stop()
        wait_until(lambda: not (self.redis.hlen(OPEN) or self.redis.xlen(EVENTS)), every_s=0.1)
        said: list[str] = []

        def is_content() -> bool:
            result = NEWER.run("-m", "app.cli", "reconcile", env=self.env)
            said.append(result.stdout + result.stderr)
            return result.returncode == 0

        try:
            wait_until(is_content, deadline_s=RECONCILE_S, every_s=1.0)
        except TimeoutError:
            raise AssertionError(said[-1]) from None

    def check(self, abandoned: Sequence[str]) -> None:
        """Compare the ledger with what the vendor served and what callers got.

        `abandoned` are the tags of held streams whose process was killed.
        """
        assert self.redis.xlen(DEAD) == 0
        for member in [*self.members, *self._former]:
            assert (MARK in member.log) == (member.version.root != NEWER.root), member.process.name
        engine = create_engine(self.env["DATABASE_URL"])
        found = verdict(engine, self.vendor.served.by_tag, self.load.asked, accepts_former=True)
        with engine.connect() as connection:
            rows = connection.execute(sa.select(entries)).mappings().all()
        engine.dispose()
        assert found.is_good, "\n".join(found.problems)
        by_user = {row["user"]: row for row in rows}
        assert {
            tag: (by_user[tag]["status"], by_user[tag]["completion_tokens"]) for tag in abandoned
        } == dict.fromkeys(abandoned, ("abandoned", HELD_WORDS))
        spent = sum(row["cost_nanousd"] or 0 for row in rows if row["account_id"] == LIMITED)
        self._check_limits(spent)

    def _check_limits(self, spent_nanousd: int) -> None:
        """No reservation is left, and a budget was charged what the ledger has, and once."""
        assert self.redis.hlen(RESERVED) == 0
        assert self.redis.scard(f"{LIMITS}account:{LIMITED}:streams") == 0
        charged = Counter[str]()
        for key in self.redis.scan_iter(f"{LIMITS}account:{LIMITED}:*:month"):
            values: Any = self.redis.hmget(key, "spent", "reserved")
            charged.update(spent=int(values[0]), reserved=int(values[1]))
        assert charged == Counter(spent=spent_nanousd, reserved=0)


@contextlib.contextmanager
def installed(root: Path, database_url: str, version: Version, seed: int) -> Iterator[Rollout]:
    """Install a version: migrate an empty database, and create accounts and a key.

    No process runs yet. In the end, whatever runs is killed.
    """
    with contextlib.ExitStack() as stack:
        vendor, server = HoldingVendor(seed), SimulatedVendor()
        server.default = vendor.answer
        stack.callback(server.stop)
        valkey = Valkey(root).start()
        stack.callback(valkey.kill)
        (root / "vendors.toml").write_text(VENDORS.format(url=server.url))
        (root / "prices.toml").write_text(PRICES)
        env = {
            "REDIS_URL": valkey.url,
            "DATABASE_URL": database_url,
            "TOLLGATE_VENDORS": str(root / "vendors.toml"),
            "TOLLGATE_PRICES": str(root / "prices.toml"),
            "TOLLGATE_SPOOL_DIR": str(root / "spool"),
            "TOLLGATE_GRACE_S": "2",
        }
        version.tollgate("db", "upgrade", env=env)
        key = version.output_of("-c", SETUP, env=env).strip()
        redis = stack.enter_context(Redis.from_url(valkey.url))
        rollout = Rollout(root, env, redis, vendor, Load(key, seed))
        stack.callback(rollout.kill_all)
        yield rollout
