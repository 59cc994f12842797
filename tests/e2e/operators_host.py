"""An installation that is started as docs/deploying.md says, with the settings of .env.example.

PostgreSQL and Redis ask for passwords; two web processes serve; there are two simulated vendors.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests

from app.settings import ROOT
from app.storage.sql.engine import create_engine
from tests.e2e.operators_day import Day
from tests.support.operator import adapted, start_commands
from tests.support.ports import free_port
from tests.support.processes import started
from tests.support.services.polling import wait_until
from tests.support.services.postgres import Postgres
from tests.support.services.valkey import Valkey
from tests.support.tools import tool_env
from tests.support.vendor import SimulatedVendor

USER, SECRET = "tollgate_day", "hunter2"

#: Who runs the commands.
ANN = "ann@ops-1"

VENDORS = """
[vendors.good]
gateway = "openai"
base_url = "{good}"
api_key_env = "GOOD_API_KEY"

[vendors.bad]
gateway = "openai"
base_url = "{bad}"
retries = 1
"""

#: Seconds that web processes cache keys: commands that take a key away wait for twice as long.
KEY_CACHE_S = 1


@contextmanager
def installed(root: Path, postgres: Postgres, price_file: Path) -> Iterator[Day]:
    """Write the settings, run the documented lines, and yield what runs then."""
    (root / "valkey").mkdir()
    valkey = Valkey(root / "valkey", persistent=True, password=SECRET).start()
    good, bad = SimulatedVendor(), SimulatedVendor()
    try:
        (root / "vendors.toml").write_text(VENDORS.format(good=good.url, bad=bad.url))
        postgres.add_user(USER, SECRET)
        database = postgres.create("template0").replace("postgres@", f"{USER}:{SECRET}@")
        settings = _settings(root, valkey.url, database, price_file)
        (root / ".env").write_text(settings)
        tools = tool_env(root)
        lines = [line.replace("./.env", str(root / ".env")) for line in start_commands()]
        script = "; ".join(["set -e", *lines[:-1], f"exec {lines[-1]}"])
        log, options = root / "log", {"cwd": ROOT, "env": tools, "stderr": subprocess.STDOUT}
        with (
            log.open("w") as output,
            started(["sh", "-c", script], text=True, stdout=output, **options) as process,
        ):
            pairs = [line.split("=", 1) for line in settings.splitlines() if "=" in line]
            env = tools | {name: value for name, value in pairs if not name.startswith("#")}
            engine = create_engine(database)
            day = Day(env | {"TOLLGATE_ACTOR": ANN}, root, good, bad, process, log, engine)
            wait_until(lambda: process.poll() is not None or _is_ready(day))
            assert process.poll() is None, log.read_text()
            yield day
            engine.dispose()
    finally:
        good.stop()
        bad.stop()
        valkey.stop()


def _settings(root: Path, redis_url: str, database_url: str, price_file: Path) -> str:
    """Return .env.example with what an operator changes in it."""
    example = (ROOT / ".env.example").read_text()
    changes = {
        "REDIS_URL=redis://127.0.0.1:6379/0": f"REDIS_URL={redis_url}",
        "DATABASE_URL=postgresql://tollgate@/tollgate?host=/var/run/postgresql": (
            f"DATABASE_URL={database_url}"
        ),
        "TOLLGATE_SPOOL_DIR=/var/lib/tollgate/spool": f"TOLLGATE_SPOOL_DIR={root / 'spool'}",
        "PORT=8000": f"PORT={free_port()}",
        "OPENAI_API_KEY=": "GOOD_API_KEY=sk-simulated-secret",
        "#TOLLGATE_VENDORS=/etc/tollgate/vendors.toml": f"TOLLGATE_VENDORS={root / 'vendors.toml'}",
        "#TOLLGATE_PRICES=/etc/tollgate/prices.toml": f"TOLLGATE_PRICES={price_file}",
    }
    return f"{adapted(example, changes)}\nTOLLGATE_KEY_CACHE_S={KEY_CACHE_S}\n"


def _is_ready(day: Day) -> bool:
    try:
        return requests.get(f"{day.address}/readyz", timeout=60).ok
    except requests.ConnectionError:
        return False
