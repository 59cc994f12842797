"""`tollgate prices update`: a preview, a narrowed re-pricing, and one that is killed midway."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import sqlalchemy as sa

from app.accounts.accounts import Accounts
from app.ledger.posting import Ledger
from app.ledger.reconcile import day_ranges, differences
from app.ledger.repricing import past_repricings
from app.pricing.live_prices import prices_version
from app.pricing.price_book import NO_PRICES
from app.storage.sql.tables import corrections, entries
from app.storage.sql.transactions import reading
from tests.cli.command import Tollgate
from tests.support.events import usage_event
from tests.support.processes import started
from tests.support.services.polling import wait_until

#: 2026-09-01T00:00:00Z
MIDNIGHT_MS = 1_788_220_800_000
SEPTEMBER = ("--since", "2026-09-01", "--until", "2026-10-01")
#: What a request of 3 + 2 tokens costs.
M, DEAR = 1_650, 5_000_000


@pytest.fixture
def priced(tollgate: Tollgate, prices_file: Path) -> Tollgate:
    """The command line with a price file; two accounts used two models that had no price yet."""
    Ledger(tollgate.engine, NO_PRICES).post(
        usage_event(account_id=account, model=model, model_served=model, started_at_ms=MIDNIGHT_MS)
        for account in ("acme", "beta")
        for model in ("m", "dear", "new")
    )
    Accounts(tollgate.engine).create("idle", "Idle")
    env = {"TOLLGATE_PRICES": str(prices_file)}
    return Tollgate(tollgate.database_url, tollgate.engine, env)


def spent(tollgate: Tollgate) -> dict[tuple[str, str], int | None]:
    columns = (entries.c.account_id, entries.c.model, entries.c.cost_nanousd)
    with reading(tollgate.engine) as connection:
        return {(it[0], it[1]): it[2] for it in connection.execute(sa.select(*columns))}


def test_a_dry_run_shows_what_would_change_and_changes_nothing(priced: Tollgate) -> None:
    result = priced.run("prices", "update", *SEPTEMBER, "--dry-run")
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines[1:5] == [
        ["acme", "openai/dear", "1", "$0", "$0.005", "+$0.005"],
        ["acme", "openai/m", "1", "$0", "$0.00000165", "+$0.00000165"],
        ["beta", "openai/dear", "1", "$0", "$0.005", "+$0.005"],
        ["beta", "openai/m", "1", "$0", "$0.00000165", "+$0.00000165"],
    ]
    assert result.stdout.splitlines()[-1] == (
        "4 of 6 entries would change, by +$0.0100033 in total. Nothing was changed."
    )
    assert set(spent(priced).values()) == {None}
    assert past_repricings(priced.engine) == []


def test_an_update_of_one_model_and_account_leaves_the_others(priced: Tollgate) -> None:
    narrow = ("--model", "openai/m", "--account", "acme")
    preview = priced.run("prices", "update", *SEPTEMBER, *narrow, "--dry-run").stdout
    assert preview.endswith(
        "1 of 1 entries would change, by +$0.00000165 in total. Nothing was changed.\n"
    )
    result = priced.run("prices", "update", *SEPTEMBER, *narrow)
    assert result.stdout == "1 of 1 entries changed, by +$0.00000165 in total.\n"
    assert {key for key, cost in spent(priced).items() if cost is not None} == {("acme", "m")}
    with reading(priced.engine) as connection:
        [row] = connection.execute(sa.select(corrections)).mappings()
    assert (row["account_id"], row["added_nanousd"]) == ("acme", M)
    assert priced.run("prices", "log").stdout.splitlines()[1].endswith("acme openai/m")
    both = ("--model", "openai/m", "--model", "openai/dear")
    assert "3 of 4 entries" in priced.run("prices", "update", *SEPTEMBER, *both).stdout


@pytest.mark.parametrize(
    ("arguments", "exit_code", "said"),
    [
        (["--account", "nobody"], 1, "There is no account nobody"),
        (["--model", "openai/nothing"], 1, "No usage of the model openai/nothing"),
        (["--model", "m"], 2, "must be VENDOR/NAME"),
    ],
)
def test_a_name_that_is_unknown_is_an_error(
    priced: Tollgate, arguments: list[str], exit_code: int, said: str
) -> None:
    result = priced.run("prices", "update", *SEPTEMBER, *arguments, exit_code=exit_code)
    assert said in result.stderr
    assert past_repricings(priced.engine) == []


def test_an_account_without_usage_is_known(priced: Tollgate) -> None:
    result = priced.run("prices", "update", *SEPTEMBER, "--account", "idle")
    assert result.stdout.startswith("0 of 0 entries changed")


def test_the_prices_that_are_applied_are_named(priced: Tollgate, prices_file: Path) -> None:
    said = priced.run("prices", "update", *SEPTEMBER, "--dry-run").stderr
    assert f"Prices: {prices_file}, over" in said
    assert prices_version(prices_file) in said
    assert "run the command again in 20 s" in said
    an_hour_ago_s = time.time() - 3_600
    os.utime(prices_file, (an_hour_ago_s, an_hour_ago_s))
    assert "again" not in priced.run("prices", "update", *SEPTEMBER, "--dry-run").stderr


def test_an_update_that_is_killed_midway_is_right_after_it_is_repeated(priced: Tollgate) -> None:
    count = 12_000
    Ledger(priced.engine, NO_PRICES).post(
        usage_event(account_id="acme", model="m", model_served="m", started_at_ms=MIDNIGHT_MS + n)
        for n in range(count)
    )
    command = [sys.executable, "-c", "from app.cli import main; main()", "prices", "update"]
    env = {**os.environ, **priced.env, "DATABASE_URL": priced.database_url}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with started([*command, *SEPTEMBER, "--account", "acme"], env=env, **quiet) as process:
        wait_until(lambda: any(it.changed_entries for it in past_repricings(priced.engine)))
        process.kill()
        process.wait(60)
    [killed] = past_repricings(priced.engine)
    assert 0 < killed.changed_entries < count
    priced.run("prices", "update", *SEPTEMBER, "--account", "acme")
    with reading(priced.engine) as connection:
        [row] = connection.execute(sa.select(corrections)).mappings()
    assert row["added_nanousd"] == (count + 1) * M + DEAR
    assert row["corrected_requests"] == count + 2
    assert not [it for days in day_ranges(priced.engine) for it in differences(priced.engine, days)]
