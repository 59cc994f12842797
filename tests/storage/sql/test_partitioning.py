"""The migration that partitions the entries of a PostgreSQL ledger in use."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Engine

from app.ledger.posting import Ledger
from app.settings import CONFIG_DIR
from app.storage.sql import migrations
from app.storage.sql.engine import create_engine
from app.storage.sql.migrations import schema_is_current, upgrade
from app.storage.sql.partitions import partitions
from app.storage.sql.transactions import reading
from app.vocabulary.errors import LedgerUnavailable
from tests.storage.sql.older import add_entries, entries_in
from tests.support.events import usage_event
from tests.support.processes import join
from tests.support.services.polling import wait_until
from tests.support.services.postgres import Postgres

REVISION = "0010"
PROOF = "entries_fit_their_partition"


@pytest.fixture
def old(postgres: Postgres) -> Iterator[Engine]:
    """A ledger as it was before the migration, with some entries."""
    url = postgres.create("template0")
    engine = create_engine(url)
    step(engine, command.upgrade, before())
    add_entries(engine, [usage_event() for _ in range(20)])
    yield engine
    engine.dispose()
    postgres.drop(url)


def config() -> Config:
    found = Config()
    found.set_main_option("script_location", str(CONFIG_DIR / "migrations"))
    return found


def before() -> str:
    script = ScriptDirectory.from_config(config()).get_revision(REVISION)
    return str(script.down_revision)


def step(engine: Engine, way: Callable[[Config, str], None], revision: str) -> None:
    found = config()
    with engine.begin() as connection:
        found.attributes["connection"] = connection
        way(found, revision)


def url_of(engine: Engine) -> str:
    return engine.url.render_as_string(hide_password=False)


def scalars(engine: Engine, statement: str) -> list[Any]:
    with reading(engine) as connection:
        return list(connection.scalars(sa.text(statement)))


def test_the_present_table_becomes_the_first_partition(old: Engine) -> None:
    kept = entries_in(old)
    (table,) = scalars(old, "SELECT relfilenode FROM pg_class WHERE relname = 'entries'")
    upgrade(url_of(old))
    assert entries_in(old, kept[0]) == kept
    (first,) = scalars(old, "SELECT relfilenode FROM pg_class WHERE relname = 'entries_initial'")
    assert first == table  # no row was copied
    with reading(old) as connection:
        initial, *months = partitions(connection)[::-1]
        assert (initial.name, initial.start) == ("entries_initial", "")
        assert months[-1].start == initial.end
    assert PROOF not in scalars(old, "SELECT conname FROM pg_constraint")


def test_posts_and_reads_go_on_during_the_migration(old: Engine) -> None:
    ended, posted = threading.Event(), []

    def post() -> None:
        while not ended.is_set():
            add_entries(old, [usage_event() for _ in range(5)])
            posted.append(5)
            assert scalars(old, "SELECT count(*) FROM entries") == [20 + sum(posted)]

    poster = threading.Thread(target=post)
    poster.start()
    wait_until(lambda: len(posted) > 3)
    upgrade(url_of(old))
    so_far = len(posted)
    wait_until(lambda: len(posted) > so_far + 3)
    ended.set()
    join(poster)
    assert Ledger(old).post([usage_event()]) == 1


def test_ids_that_do_not_fit_go_to_the_default_partition(old: Engine) -> None:
    add_entries(old, [usage_event(event_id=it) for it in ("no UUID", "f0000000-0000", "00")])
    kept = entries_in(old)
    upgrade(url_of(old))
    assert entries_in(old, kept[0]) == kept
    found = scalars(old, "SELECT event_id FROM entries_default ORDER BY 1")
    assert found == ["f0000000-0000", "no UUID"]


def test_a_failed_migration_leaves_nothing_behind(
    old: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proof that stayed would make posts fail in the month after next."""
    monkeypatch.setattr(migrations, "MIGRATION_WAIT_S", 1)
    with locked_revision(old), pytest.raises(LedgerUnavailable):
        upgrade(url_of(old))
    assert PROOF not in scalars(old, "SELECT conname FROM pg_constraint")
    upgrade(url_of(old))
    assert schema_is_current(old)


@contextmanager
def locked_revision(engine: Engine) -> Iterator[None]:
    """Let the proof succeed and the migration fail: it cannot record its revision."""
    with engine.begin() as connection:
        connection.execute(sa.text("LOCK TABLE alembic_version IN SHARE MODE"))
        yield


def test_what_others_may_read_they_may_read_afterwards(old: Engine) -> None:
    with old.begin() as connection:
        connection.execute(sa.text('CREATE ROLE "a reporter"'))
        connection.execute(sa.text('GRANT SELECT ON entries TO "a reporter"'))
    try:
        upgrade(url_of(old))
        with old.begin() as connection:
            connection.execute(sa.text('SET ROLE "a reporter"'))
            assert connection.scalar(sa.text("SELECT count(*) FROM entries")) == 20
            connection.execute(sa.text("RESET ROLE"))
    finally:
        with old.begin() as connection:
            connection.execute(sa.text('DROP OWNED BY "a reporter"'))
            connection.execute(sa.text('DROP ROLE "a reporter"'))


def test_a_downgrade_keeps_every_entry_and_may_be_undone(old: Engine) -> None:
    add_entries(old, [usage_event(event_id="no UUID")])
    kept = entries_in(old)
    upgrade(url_of(old))
    step(old, command.downgrade, before())
    assert entries_in(old) == kept
    assert scalars(old, "SELECT relkind FROM pg_class WHERE relname = 'entries'") == ["r"]
    with reading(old) as connection:
        assert partitions(connection) == []
        names = {str(it["name"]) for it in sa.inspect(connection).get_indexes("entries")}
        assert names == {"entries_by_account_and_time", "entries_by_time"}
    upgrade(url_of(old))
    assert entries_in(old, kept[0]) == kept
