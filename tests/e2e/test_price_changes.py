"""A changed price file reaches the running processes, without a restart."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import sqlalchemy as sa

from app.pricing.live_prices import TAKEN_WITHIN_S, prices_version
from app.storage.sql.tables import entries
from app.storage.sql.transactions import reading
from tests.e2e.deployment import Candidate, deployed
from tests.support.services.polling import wait_until

ASK = {"model": "sim/m", "prompt": "one two", "max_tokens": 5}
#: More than anything here costs.
BUDGET_NANOUSD = 10**15


def price(dollars: int) -> str:
    return f'[[prices]]\nmodel = "sim/*"\ninput = {dollars}\noutput = {dollars}\n'


@pytest.fixture
def candidate(tmp_path: Path) -> Iterator[Candidate]:
    """A deployment where a million tokens cost a dollar, and an account has a budget."""
    path = tmp_path / "own.toml"
    path.write_text(price(1))
    with deployed(tmp_path, {"TOLLGATE_PRICES": str(path)}) as candidate:
        candidate.gateway.accounts.set_limits("account", "acme", budget_nanousd=BUDGET_NANOUSD)
        yield candidate


def newest(candidate: Candidate) -> tuple[int, str]:
    """Have a request served; return its cost in nano-dollars, as it was posted, and its price."""
    assert candidate.gateway.post(ASK).status_code == 200
    candidate.usage("acme")
    latest = sa.select(entries.c.total_tokens, entries.c.cost_nanousd, entries.c.price_id)
    with reading(candidate.gateway.engine) as connection:
        row = connection.execute(latest.order_by(entries.c.started_at_ms.desc())).first()
    assert row is not None
    return row.cost_nanousd // row.total_tokens, row.price_id


def tokens(candidate: Candidate) -> int:
    """Return the tokens of the newest request."""
    latest = sa.select(entries.c.total_tokens).order_by(entries.c.started_at_ms.desc())
    with reading(candidate.gateway.engine) as connection:
        return connection.scalar(latest.limit(1)) or 0


def charged(candidate: Candidate) -> int:
    """Return what the budget of this month has been charged, in nano-dollars."""
    redis = candidate.gateway.redis
    (key,) = [key for key in redis.keys("limits:account:acme:20*")]
    found: Any = redis.hget(key, "spent")
    return int(found)


def charge_of_one(candidate: Candidate) -> int:
    """Have a request served; return by how much it changed what the budget has been charged."""
    before = charged(candidate)
    newest(candidate)
    return charged(candidate) - before


def alarms(candidate: Candidate) -> dict[str, str]:
    root = candidate.gateway.base_url.removesuffix("/v5")
    found: dict[str, str] = requests.get(f"{root}/readyz", timeout=60).json()["alarms"]
    return found


def test_an_event_after_a_change_has_the_new_price_and_a_broken_file_changes_nothing(
    candidate: Candidate,
) -> None:
    path, root = candidate.root / "own.toml", candidate.root
    first, first_id = newest(candidate)
    assert first == 1_000
    logs = root / "web.log", root / "worker.log"

    path.write_text(price(3)[:-7])  # a writer that was interrupted
    wait_until(lambda: "prices" in alarms(candidate))
    wait_until(lambda: all("a price file is invalid" in log.read_text() for log in logs))
    assert newest(candidate) == (1_000, first_id)

    path.write_text(price(3))
    taken = f"took the changed prices, version {prices_version(path)}"
    deadline_s = TAKEN_WITHIN_S + 10  # slack: a machine may be busy
    wait_until(lambda: taken in logs[0].read_text(), deadline_s=deadline_s)
    wait_until(lambda: newest(candidate)[0] == 3_000, deadline_s=deadline_s)
    assert newest(candidate)[1] != first_id
    # The web process charges budgets by the new price, too. A correction of what was charged while
    # only one of both had it may come in between.
    wait_until(lambda: charge_of_one(candidate) == 3_000 * tokens(candidate))
    assert "prices" not in alarms(candidate)
    assert logs[0].read_text().count("a price file is invalid") == 1
