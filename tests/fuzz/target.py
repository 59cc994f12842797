"""The web process under fire: gunicorn, Valkey, a ledger, and two vendors."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.settings import Settings
from tests.fuzz.pacer import Pacer
from tests.support.gateway import Gateway, gunicorn, with_account
from tests.support.services.sqlite import new_ledger
from tests.support.services.valkey import Valkey
from tests.support.vendor import (
    DONE,
    Asked,
    Reply,
    SimulatedVendor,
    body_of,
    choice,
    json_reply,
    stream_reply,
    usage_of,
)
from tests.support.vendor_chat import chatted

VENDORS = """
[vendors.sim]
gateway = "openai"
base_url = "{sim}"
retries = 0
token_prompts = true

[vendors.single]
gateway = "openai"
base_url = "{sim}"
retries = 0
list_prompts = false
max_n = 1

[vendors.paced]
gateway = "openai"
base_url = "{paced}"
retries = 0
timeouts = {{ total_s = 1000000 }}
"""


@dataclass
class Target:
    """Where it is, and what can be seen of it."""

    gateway: Gateway
    vendor: SimulatedVendor
    calls: list[str | None]
    pacer: Pacer
    worker_pid: int
    log: Path

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens."""
        host, _, port = (
            self.gateway.base_url.removeprefix("http://").removesuffix("/v5").partition(":")
        )
        return host, int(port)

    def forget_memory(self) -> None:
        """Begin the measure of memory anew."""
        Path(f"/proc/{self.worker_pid}/clear_refs").write_text("5")

    def memory_mb(self) -> float:
        """Return the largest resident size since `forget_memory`."""
        return self._status("VmHWM")

    def memory_now_mb(self) -> float:
        """Return the resident size."""
        return self._status("VmRSS")

    def _status(self, name: str) -> float:
        for line in Path(f"/proc/{self.worker_pid}/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) / 1024
        raise LookupError(name)


@contextlib.contextmanager
def running_target(root: Path) -> Iterator[Target]:
    """Run everything, with a stream that goes on and on."""
    with contextlib.ExitStack() as stack:
        valkey, vendor = Valkey(root).start(), SimulatedVendor()
        stack.callback(valkey.stop)
        stack.callback(vendor.stop)
        calls: list[str | None] = []
        vendor.asked = _Users(calls)  # bodies would fill the memory
        vendor.default = answered
        pacer = stack.enter_context(Pacer())
        (root / "vendors.toml").write_text(VENDORS.format(sim=vendor.url, paced=pacer.vendor_url))
        env = {
            "REDIS_URL": valkey.url,
            "DATABASE_URL": new_ledger(root / "ledger.db"),
            "TOLLGATE_VENDORS": str(root / "vendors.toml"),
            "TOLLGATE_SPOOL_DIR": str(root / "spool"),
            "TOLLGATE_GRACE_S": "1",
        }
        log = root / "web.log"
        url, pid = stack.enter_context(gunicorn(env, log))
        gateway = stack.enter_context(with_account(url, Settings.from_env(env)))
        worker_pid = int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
        pacer.begin(url, gateway.api_key, worker_pid)
        yield Target(gateway, vendor, calls, pacer, worker_pid, log)


class _Users(list[Asked]):
    """Keeps of a request only whose it is."""

    def __init__(self, users: list[str | None]) -> None:
        super().__init__()
        self._users = users

    def append(self, asked: Asked) -> None:
        """Keep the user."""
        self._users.append(asked.body.get("user"))


def answered(asked: Asked) -> Reply:
    """Answer whatever a vendor may be asked."""
    body: dict[str, Any] = asked.body
    if "messages" in body:
        return chatted(body)
    prompt = body.get("prompt")
    prompts = len(prompt) if isinstance(prompt, list) and not _is_tokens(prompt) else 1
    choices = [choice("so ", "stop", at) for at in range(prompts * (body.get("n") or 1))]
    usage = usage_of(7, len(choices))
    if body.get("stream"):
        return stream_reply(body_of(*choices), body_of(usage=usage), DONE)
    return json_reply(body_of(*choices, usage=usage))


def _is_tokens(prompt: list[Any]) -> bool:
    return bool(prompt) and isinstance(prompt[0], int)
