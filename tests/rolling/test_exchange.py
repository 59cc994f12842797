"""What each version writes and the other one reads: Redis, the ledger, the spool, the tasks."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from subprocess import PIPE
from sys import executable
from typing import Any

import pytest

from tests.rolling.exchange.samples import CALLS, EVENT, RECORD
from tests.rolling.versions import NEWER, Version
from tests.support.processes import started
from tests.support.services.postgres import Postgres
from tests.support.services.valkey import Valkey

#: In dollars a million tokens.
PRICES = """
[[prices]]
model = "*/m"
input = 1.0
output = 2.0

[[prices]]
model = "*/m"
service_tier = "flex"
input = 0.5
output = 1.0
"""

ABANDONED: dict[str, Any] = {"status": "abandoned", "vendor_served": None, "model_served": None}
ABANDONED |= dict.fromkeys(("vendor_request_id", "http_status", "first_token_ms"))
NOTHING_RESERVED = {"requests": 0, "streams": 0, "budget": 0}
ALL_POSTED = {"posted": 1, "backlog": 0, "started": 0, "dead": 0}
#: Of calls in the standard tier, and of an estimate without calls in the cheaper one.
COST_NANOUSD, GUESS_NANOUSD = 30 * 1_000 + 20 * 2_000, 30 * 500 + 1_000
TASKS = ["usage.alarms", "usage.forget_idle_consumers", "usage.post", "usage.reap"]

#: What a reader makes of each part, whichever version it is.
EXPECTED: dict[str, Any] = {
    "open record": [
        {**RECORD, "status": "abandoned", "source": "estimated"}
        | {"prompt_tokens": 25, "completion_tokens": 0}
    ],
    "checkpoint": [EVENT | ABANDONED],
    "heartbeat": [0, 1],
    "event": [
        [EVENT],
        [[{**it} for it in CALLS]],
        ALL_POSTED,
        EVENT,
        0,
    ],
    "claimed entry": ALL_POSTED,
    "dead letter": [["for a test"], ALL_POSTED],
    "spool": [["e1"], ["e2"], []],
    "live spool": [0, 1],
    "reservation": [
        [False, {"requests": 1, "streams": 1, "budget": 70, "spent": 0}],
        NOTHING_RESERVED | {"spent": 7},
        7,
        False,
    ],
    "abandoned reservation": [NOTHING_RESERVED | {"spent": 0}, 1],
    "running claim": ["idempotency_in_progress", None],
    "stored response": [
        [
            200,
            [["x-request-id", "req_1"], ["content-type", "text/event-stream"]],
            "Zoë",
            "req_1",
            True,
        ],
        "idempotency_key_reused",
    ],
    "unstored response": "idempotency_response_not_stored",
    "circuit": [["broken"], ["breaking", "broken"]],
    "tasks": [True, TASKS],
    "account": [[True, True, ["completions", "usage"]], 5, 7, True, [False, None]],
    "entry": [True, [COST_NANOUSD, GUESS_NANOUSD], 0, [EVENT, EVENT], 0],
    "repricing": [True, [COST_NANOUSD], 0],
}


class Peer:
    """A process of one version that writes and reads parts."""

    def __init__(self, process: Any, version: Version) -> None:
        self._process = process
        assert Path(self._line()).is_relative_to(version.root)

    def write(self, part: str) -> Any:
        """Write a part; return what the reader is to be told."""
        return self._answer([part, "write", None])

    def read(self, part: str, told: Any) -> Any:
        """Return what it makes of a part."""
        return self._answer([part, "read", told])

    def _answer(self, question: list[Any]) -> Any:
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        return json.loads(self._line())

    def _line(self) -> str:
        line: str = self._process.stdout.readline().rstrip("\n")
        assert line, "the process has ended"
        return line


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def peers(
    request: pytest.FixtureRequest,
    older: Version,
    valkey: Valkey,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[dict[str, Peer]]:
    """A process of each version, on one ledger that the older one made and the newer migrated."""
    root = tmp_path_factory.mktemp("exchange")
    with ExitStack() as stack:
        url = f"sqlite:///{root / 'ledger.db'}"
        if request.param == "postgresql":
            postgres: Postgres = request.getfixturevalue("postgres")
            url = postgres.create("template0")
            stack.callback(postgres.drop, url)
        (root / "prices.toml").write_text(PRICES)
        env = {
            "REDIS_URL": valkey.url,
            "DATABASE_URL": url,
            "TOLLGATE_PRICES": str(root / "prices.toml"),
            "SPOOL": str(root / "spool"),
        }
        found = {}
        for version in (older, NEWER):
            version.tollgate("db", "upgrade", env=env)
            command = [executable, "-m", "tests.rolling.exchange"]
            paths = {"PYTHONPATH": f"{version.root}:{NEWER.root}"}
            process = stack.enter_context(
                started(
                    command,
                    cwd=version.root,
                    env={**version.env, **env, **paths},
                    stdin=PIPE,
                    stdout=PIPE,
                    text=True,
                )
            )
            found[version.name] = Peer(process, version)
        yield found


@pytest.mark.usefixtures("redis_url")
@pytest.mark.parametrize(("writer", "reader"), [("older", "newer"), ("newer", "older")])
@pytest.mark.parametrize("part", EXPECTED)
def test_what_a_version_writes_means_the_same_to_the_other(
    peers: dict[str, Peer], part: str, writer: str, reader: str
) -> None:
    told = peers[writer].write(part)
    assert peers[reader].read(part, told) == EXPECTED[part]
