"""Migrations of a ledger that is in use."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from click.testing import CliRunner
from sqlalchemy import Engine

from app.accounts.accounts import Accounts
from app.cli import main
from app.ledger.posting import Ledger, entry_of
from app.ledger.reconcile import day_ranges, differences, rebuild
from app.ledger.reports.reader import UsageReader
from app.ledger.reports.recent import RecentReader
from app.ledger.repricing import reprice
from app.pricing.price_book import PriceBook
from app.settings import CONFIG_DIR
from app.storage.sql import migrations
from app.storage.sql.engine import create_engine
from app.storage.sql.migrations import known_revisions, schema_is_current, upgrade
from app.storage.sql.tables import LATER_COUNTS, LATER_MEASURES, daily_rollups, entries, rollups
from app.storage.sql.transactions import reading
from app.vocabulary.errors import LedgerUnavailable
from tests.ledger.ledgers import DAY, MIDNIGHT_S, at, requests
from tests.support.services.postgres import Postgres

#: Columns of entries that the first version did not know.
LATER_COLUMNS = {
    "service_tier",
    "prompt_source",
    "completion_source",
    "error_code",
    "error_message",
    "calls",
    "attempt_log",
    "process",
    "number",
    "endpoint",
    *LATER_COUNTS,
}
#: Of the first version.
OLD_MEASURES = [it.name for it in rollups.c if it.name not in LATER_MEASURES]


@pytest.fixture(params=["sqlite", "postgresql"])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """A ledger with the schema of the first version, and a request every 15 minutes."""
    if request.param == "sqlite":
        yield from _old(f"sqlite:///{tmp_path / 'old.db'}")
        return
    postgres: Postgres = request.getfixturevalue("postgres")
    url = postgres.create("template0")
    yield from _old(url)
    postgres.drop(url)


def _old(url: str) -> Iterator[Engine]:
    engine = create_engine(url)
    config = Config()
    config.set_main_option("script_location", str(CONFIG_DIR / "migrations"))
    with engine.execution_options(writes=True).begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
    for n in range(96):
        post_as_before(engine, MIDNIGHT_S + n * 900)
    yield engine
    engine.dispose()


def post_as_before(engine: Engine, time_s: int) -> None:
    """Post a request as the first version did, without costs, daily or hourly rollups, or calls."""
    event = at(time_s - MIDNIGHT_S)
    names = [name for name in event.__struct_fields__ if name not in LATER_COLUMNS]
    values = {name: getattr(event, name) for name in names}
    entry = sa.table("entries", *(sa.column(name) for name in names))
    sums = {"requests": 1, "failed_requests": 0, "estimated_requests": 0, "slot_s": time_s}
    rollup = sa.table("rollups", *(sa.column(name) for name in OLD_MEASURES))
    with engine.execution_options(writes=True).begin() as connection:
        connection.execute(entry.insert().values(values))
        row = {name: sums.get(name, values.get(name)) for name in OLD_MEASURES}
        connection.execute(rollup.insert().values(row))


def lacking(engine: Engine) -> list[object]:
    return [it for days in day_ranges(engine) for it in differences(engine, days)]


def test_old_entries_stay_unpriced_and_are_summed_by_days_and_hours(old: Engine) -> None:
    upgrade(old.url.render_as_string(hide_password=False))
    (row,) = UsageReader(old).rows(DAY)
    assert (row.requests, row.unpriced_requests, row.cost_nanousd) == (96, 96, 0)
    assert lacking(old) == []
    assert Ledger(old).post([at(5)]) == 1
    assert requests(UsageReader(old).rows(DAY)) == 97


def test_a_rebuild_adds_what_the_previous_version_posted_in_the_meantime(old: Engine) -> None:
    upgrade(old.url.render_as_string(hide_password=False))
    post_as_before(old, MIDNIGHT_S - 900)
    assert [getattr(it, "width_s", 0) for it in lacking(old)] == [86_400, 3_600]
    for days in day_ranges(old):
        rebuild(old, days)
    assert lacking(old) == []
    with reading(old) as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(daily_rollups)) == 2


def test_entries_of_the_previous_version_are_read_listed_and_repriced(
    old: Engine, prices: PriceBook
) -> None:
    upgrade(old.url.render_as_string(hide_password=False))
    post_as_before(old, MIDNIGHT_S - 900)
    newest, *_ = RecentReader(old).requests(DAY, 1)
    assert (newest.service_tier, newest.prompt_source, newest.guessed_prompt) == (None, None, False)
    with reading(old) as connection:
        rows = connection.execute(sa.select(entries)).mappings().all()
    events = [entry_of(row).event for row in rows]
    assert {(it.prompt_source, it.completion_source, it.calls) for it in events} == {
        ("vendor", "vendor", ())
    }
    changed = sum(it.changed for it in reprice(old, prices, 0, 2**44))
    assert (changed, UsageReader(old).rows(DAY)[0].unpriced_requests) == (97, 0)


def test_a_former_word_for_a_source_is_replaced(old: Engine) -> None:
    set_sources(old, "drained")
    upgrade(old.url.render_as_string(hide_password=False))
    with reading(old) as connection:
        assert set(connection.scalars(sa.select(entries.c.source))) == {"read"}
    set_sources(old, "drained")  # as workers of the version before go on
    (row,) = UsageReader(old).rows(DAY)
    assert row.estimated_requests == 0
    assert lacking(old) == []


def set_sources(engine: Engine, source: str) -> None:
    with engine.execution_options(writes=True).begin() as connection:
        connection.execute(sa.update(entries).values(source=source))


@pytest.mark.parametrize("old", ["postgresql"], indirect=True)
def test_a_migration_does_not_wait_forever_for_a_table_in_use(
    old: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On PostgreSQL, a transaction that waits for a table blocks every later reader."""
    monkeypatch.setattr(migrations, "MIGRATION_WAIT_S", 1)
    url = old.url.render_as_string(hide_password=False)
    with old.connect() as connection, connection.begin():
        connection.execute(sa.text("SELECT count(*) FROM entries"))
        with pytest.raises(LedgerUnavailable):
            upgrade(url)
        assert not schema_is_current(old)
    upgrade(url)
    assert schema_is_current(old)


def test_the_files_are_named_by_their_revisions() -> None:
    config = Config()
    config.set_main_option("script_location", str(CONFIG_DIR / "migrations"))
    script = ScriptDirectory.from_config(config)
    steps = [step.revision for step in script.walk_revisions()]
    assert list(known_revisions()) == steps[::-1]


def test_migrations_only_add_so_that_the_previous_version_keeps_working(tmp_path: Path) -> None:
    """It reads and writes the columns that it knows, so a release can be rolled back."""
    engine = create_engine(f"sqlite:///{tmp_path / 'ledger.db'}")
    config = Config()
    config.set_main_option("script_location", str(CONFIG_DIR / "migrations"))
    before: dict[str, dict[str, bool]] = {}
    for revision in known_revisions():
        with engine.execution_options(writes=True).begin() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, revision)
        after = columns(engine)
        for table, names in before.items():
            assert names.keys() <= after[table].keys(), (revision, table)
            added = after[table].keys() - names.keys()
            assert not [name for name in added if after[table][name]], (revision, table)
        before = after
    engine.dispose()


def columns(engine: Engine) -> dict[str, dict[str, bool]]:
    """Return each table's columns, and whether a new row must have a value for it."""
    found = sa.inspect(engine)
    return {
        table: {
            it["name"]: not it["nullable"] and it["default"] is None
            for it in found.get_columns(table)
        }
        for table in found.get_table_names()
    }


@pytest.fixture
def newer(database_url: str) -> str:
    """A ledger that a later version has migrated."""
    engine = create_engine(database_url)
    with engine.execution_options(writes=True).begin() as connection:
        for table in ("entries", "rollups", "daily_rollups", "rollups_by_hour"):
            for column in ("sung_tokens INTEGER NOT NULL DEFAULT 0", "mood TEXT"):
                connection.execute(sa.text(f"ALTER TABLE {table} ADD COLUMN {column}"))
        connection.execute(sa.text("CREATE TABLE songs (song_id INTEGER PRIMARY KEY)"))
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '0099'"))
    engine.dispose()
    return database_url


def test_this_version_works_on_the_schema_of_a_newer_one(newer: str) -> None:
    assert upgrade(newer) == "0099"
    engine = create_engine(newer)
    assert schema_is_current(engine)
    accounts = Accounts(engine)
    accounts.create("acme", "Acme")
    key, secret = accounts.create_key(["acme"], ["completions"])
    assert accounts.find_key(secret) == key
    assert Ledger(engine).post([at(5), at(6)]) == 2
    assert requests(UsageReader(engine).rows(DAY)) == 2
    assert lacking(engine) == []
    engine.dispose()


def test_the_release_step_of_an_older_version_says_so_and_succeeds(newer: str) -> None:
    result = CliRunner().invoke(main, ["db", "upgrade"], env={"DATABASE_URL": newer})
    assert (result.exit_code, result.stdout) == (0, "")
    (line,) = result.stderr.splitlines()
    assert "(0099) is of a newer version" in line


def test_the_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'other.db'}"
    engine = create_engine(url)
    with engine.execution_options(writes=True).begin() as connection:
        connection.execute(sa.text("CREATE TABLE alembic_version (version_num TEXT)"))
        connection.execute(sa.text("INSERT INTO alembic_version VALUES ('8c2f1b0d')"))
    result = CliRunner().invoke(main, ["db", "upgrade"], env={"DATABASE_URL": url})
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert "belongs to another program" in line
    assert sa.inspect(engine).get_table_names() == ["alembic_version"]
    engine.dispose()
