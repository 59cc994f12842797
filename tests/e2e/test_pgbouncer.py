"""All of Tollgate with a PgBouncer in transaction mode between it and PostgreSQL."""

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from app.accounts.accounts import Accounts
from app.settings import ROOT, database_url
from app.storage.sql.engine import create_engine
from app.storage.sql.transactions import reading
from app.vocabulary.errors import LedgerUnavailable
from tests.e2e.deployment import Candidate, deployed
from tests.support.services.pgbouncer import PgBouncer, find_pgbouncer
from tests.support.services.postgres import Postgres

#: The settings that each transaction which adds entries has.
TRAP = """
CREATE TABLE seen (name text, value text);
CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO seen SELECT it, current_setting(it) FROM unnest(
    ARRAY['synchronous_commit', 'statement_timeout', 'lock_timeout']) AS it;
  RETURN NULL;
END $$;
CREATE TRIGGER see AFTER INSERT ON entries EXECUTE FUNCTION see();
"""


@pytest.fixture(scope="module")
def pooled(postgres: Postgres) -> Iterator[tuple[PgBouncer, str]]:
    """A PgBouncer, and the URL of an empty database past it."""
    program = find_pgbouncer()
    if program is None:
        assert "CI" not in os.environ, "CI tests PgBouncer: install it"
        pytest.skip("no PgBouncer here")
    direct = postgres.create("template0")
    pooler = PgBouncer(program, direct).start()
    try:
        yield pooler, direct
    finally:
        pooler.stop()
        postgres.drop(direct)


def tollgate(env: dict[str, str], *words: str) -> "subprocess.CompletedProcess[str]":
    """Run a command as operators do."""
    return subprocess.run(
        [sys.executable, "-m", "app.cli", *words],
        cwd=ROOT,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def deployment(
    pooled: tuple[PgBouncer, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Candidate]:
    """Release, web, worker and beat, all through PgBouncer."""
    pooler, direct = pooled
    env = {"DATABASE_URL": pooler.url()}
    for _ in range(2):
        release = tollgate(env, "db", "upgrade")
        assert (release.returncode, release.stderr) == (0, "The ledger's schema is up to date.\n")
    with psycopg.connect(direct.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(TRAP.encode())
        name = connection.info.dbname
        # What a pooler's sessions would have.
        connection.execute(f'ALTER DATABASE "{name}" SET synchronous_commit = off'.encode())
    with deployed(tmp_path_factory.mktemp("pooled"), env) as deployment:
        yield deployment


def test_usage_is_posted_read_and_agrees(
    deployment: Candidate, pooled: tuple[PgBouncer, str], tmp_path: Path
) -> None:
    gateway = deployment.gateway
    key = gateway.add_account("pooled", "completions", "usage")
    ask = {"model": "sim/m", "prompt": "one two", "max_tokens": 5}
    for _ in range(8):
        assert gateway.post(ask, headers={"x-api-key": key}).status_code == 200
    row = deployment.usage("pooled")
    assert row is not None
    assert (row.requests, row.usage.total_tokens) == (8, 56)
    for _ in range(8):
        usage = gateway.get(
            "/organization/usage/completions?start_time=1", headers={"x-api-key": key}
        )
        assert usage.status_code == 200
    env = {
        "DATABASE_URL": pooled[0].url(),
        "REDIS_URL": deployment.redis_url,
        "TOLLGATE_SPOOL_DIR": str(tmp_path),
    }
    for words in (["reconcile"], ["usage", "pooled"], ["keys", "list"], ["reconcile", "--rebuild"]):
        ran = tollgate(env, *words)
        assert ran.returncode == 0, ran.stderr
    with gateway.engine.connect() as connection:
        seen = {tuple(row) for row in connection.execute(sa.text("SELECT * FROM seen"))}
    assert seen == {
        ("synchronous_commit", "on"),
        ("statement_timeout", "30s"),
        ("lock_timeout", "10s"),
    }
    logs = (deployment.root / "web.log").read_text() + (deployment.root / "worker.log").read_text()
    assert "Traceback" not in logs


def test_many_threads_share_few_sessions(deployment: Candidate) -> None:
    """What one transaction prepares or sets is not there for the next one."""
    accounts = Accounts(deployment.gateway.engine)

    def work(number: int) -> int:
        accounts.create(f"thread-{number}", "x")
        return sum(1 for _ in range(10) if accounts.list_keys())

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(24))) == [10] * 24


def test_a_parameter_that_the_pooler_refuses_is_named(pooled: tuple[PgBouncer, str]) -> None:
    pooler, _ = pooled
    url = f"{pooler.url()}?options=-c search_path=ours"
    engine = create_engine(database_url({"DATABASE_URL": url}))
    with pytest.raises(LedgerUnavailable, match="start-up parameter `options`"), reading(engine):
        pass
    engine.dispose()
    release = tollgate({"DATABASE_URL": url}, "db", "upgrade")
    assert release.returncode == 1
    assert "`options`" in release.stderr
    assert len(release.stderr.splitlines()) == 1
