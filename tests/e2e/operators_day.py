"""What an operator has at hand in a day: commands, clients, the API, metrics and the ledger."""

import json
import re
import subprocess
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests
import sqlalchemy as sa
from openai import APIError, APIStatusError, OpenAI
from redis import Redis
from sqlalchemy import Engine

from app.settings import ROOT
from app.storage.sql.tables import entries
from tests.cli.command import Tollgate
from tests.support.services.polling import wait_until
from tests.support.vendor import SimulatedVendor

ASK = {"model": "good/m", "prompt": "one two", "max_tokens": 5}

#: A key that nobody has made.
STRANGER = "tg_" + "x" * 43

#: Enough requests, each on its own connection, to reach both web processes.
BOTH = 30


@dataclass
class Day:
    """Everything that runs, and what the operator has at hand."""

    env: Mapping[str, str]
    root: Path
    good: SimulatedVendor
    bad: SimulatedVendor
    process: "subprocess.Popen[str]"
    log: Path
    engine: Engine
    keys: dict[str, str] = field(default_factory=dict)
    admin_key: str = ""
    served: int = 0
    failed: int = 0
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def address(self) -> str:
        """Where the web processes listen."""
        return f"http://127.0.0.1:{self.env['PORT']}"

    def run(self, *words: str, exit_code: int = 0, stdin: str = "") -> "Ran":
        """Run a command in the environment of the installation."""
        ran = subprocess.run(
            ["tollgate", *words],
            cwd=ROOT,
            env=self.env,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        said = ran.stdout + ran.stderr
        assert ran.returncode == exit_code, f"tollgate {' '.join(words)}\n{said}"
        assert "Traceback" not in said
        return Ran(ran.stdout, ran.stderr)

    def here(self, *words: str) -> "Ran":
        """Run a command within this process: for those that only repeat what `run` has shown."""
        url = self.env["DATABASE_URL"]
        ran = Tollgate(url, self.engine, self.env).run(*words)
        return Ran(ran.stdout, ran.stderr)

    def client(self, name: str = "") -> OpenAI:
        """Return OpenAI's client with the key of an account, or one that nobody has made."""
        return OpenAI(
            base_url=f"{self.address}/v5",
            api_key=self.keys.get(name, STRANGER),
            admin_api_key=self.admin_key or None,
            max_retries=0,
            timeout=60,
        )

    def ask(self, name: str, model: str = "good/m", **more: Any) -> str:
        """Have a completion made for an account, by the user `<account>-user`; return its text."""
        asked: dict[str, Any] = {**ASK, "model": model, "user": f"{name}-user"}
        with self.client(name) as client:
            create: Any = client.completions.create
            answer = create(**(asked | more))
            chunks = answer if more.get("stream") else [answer]
            text = "".join(choice.text for chunk in chunks for choice in chunk.choices)
        self.served += 1
        return text

    def error(self, name: str, model: str, **more: Any) -> APIError | None:
        """Ask for a completion; return the client's exception, None if it was made."""
        try:
            self.ask(name, model, **more)
        except APIError as exc:
            if isinstance(exc, APIStatusError) and exc.status_code < 500:
                self.refused[str(exc.code), name if name in self.keys else ""] += 1
            else:
                self.failed += 1
            return exc
        return None

    def fails(self, name: str, model: str, **more: Any) -> APIError:
        """Ask for a completion that must fail; return the client's exception."""
        error = self.error(name, model, **more)
        assert error is not None, f"{model} has served {name}"
        return error

    def statuses(self, name: str, key: str) -> set[int]:
        """Return the statuses that a key gets from the web processes, of which each is asked.

        `name` is the account that refused requests count for.
        """
        found: set[int] = set()
        for _ in range(BOTH):
            headers = {"authorization": f"Bearer {key}", "connection": "close"}
            url = f"{self.address}/v5/completions"
            response = requests.post(url, json=ASK, headers=headers, timeout=60)
            found.add(response.status_code)
            if response.ok:
                self.served += 1
            else:
                self.refused[response.json()["error"]["code"], name] += 1
        return found

    def get(self, path: str, **query: Any) -> Any:
        """Return the JSON of an API's path, as the admin key sees it."""
        headers = {"authorization": f"Bearer {self.admin_key}"}
        found = requests.get(f"{self.address}{path}", query, headers=headers, timeout=60)
        assert found.ok, found.text
        return found.json()

    def metric(self, name: str, **labels: str) -> float:
        """Return the sum of a metric's series with these labels, as Prometheus scrapes it."""
        text = requests.get(f"{self.address}/metrics", timeout=60).text
        series = re.findall(rf"^{name}(?:{{(.*?)}})? (\S+)$", text, re.MULTILINE)
        wanted = [f'{label}="{value}"' for label, value in labels.items()]
        return sum(float(value) for told, value in series if all(it in told for it in wanted))

    def charged(self, account_id: str) -> int:
        """Return what an account's budget of the month has been charged, in nano-dollars."""
        with Redis.from_url(self.env["REDIS_URL"]) as redis:
            (key,) = redis.keys(f"limits:account:{account_id}:20*:month")
            found: Any = redis.hget(key, "spent")
            return int(found)

    def backlog(self) -> float:
        """Return how many requests are open or not yet in the ledger."""
        return self.metric("tollgate_open_records") + self.metric("tollgate_backlog_events")

    def posted(self) -> None:
        """Wait until all requests so far are in the ledger."""
        wait_until(lambda: not self.backlog())

    def costs(self, account_id: str, model: str) -> list[int]:
        """Return the costs of an account's requests for a model in the ledger, oldest first."""
        self.posted()
        vendor, name = model.split("/")
        found = sa.select(entries.c.cost_nanousd).order_by(entries.c.started_at_ms)
        mine = (entries.c.account_id == account_id, entries.c.vendor == vendor)
        with self.engine.connect() as connection:
            return list(connection.scalars(found.where(*mine, entries.c.model == name)))


@dataclass(frozen=True)
class Ran:
    """What a command has printed."""

    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        """Its output, read as JSON."""
        return json.loads(self.stdout)

    @property
    def secret(self) -> str:
        """The key that it has printed."""
        assert re.fullmatch(r"tg_[A-Za-z0-9_-]{43}\n", self.stdout), self.stdout
        return self.stdout.strip()

    @property
    def key_id(self) -> str:
        """The key's id that it names on stderr."""
        (found,) = re.findall(r"^Key (key_[0-9a-f]+) for", self.stderr, re.MULTILINE)
        return str(found)


def request_id(error: APIError) -> str:
    """Return the id that a caller finds in the client's exception."""
    assert isinstance(error, APIStatusError)
    assert error.request_id
    return error.request_id
