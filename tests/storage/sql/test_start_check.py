"""Whether DATABASE_URL can work: a URL that cannot is told apart from a server that is down."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import make_url
from sqlalchemy.exc import OperationalError

from app.settings import ConfigError
from app.startup.deadline import Check
from app.storage.sql.start_check import check_ledger, check_replica, check_server, fault_of
from app.vocabulary.errors import LedgerUnavailable
from tests.support.ports import free_port
from tests.support.services.pgbouncer import PgBouncer, find_pgbouncer
from tests.support.services.postgres import Postgres

SECRET = "hunter2"


def fault(url: str) -> str:
    """Return why a URL is refused."""
    with pytest.raises(ConfigError) as caught:
        check_ledger(url)
    assert SECRET not in str(caught.value)
    return str(caught.value)


def test_a_migrated_database_is_named_with_its_version(database_url: str) -> None:
    found = check_ledger(database_url)
    assert found.startswith(("SQLite 3.", "PostgreSQL 1"))
    assert ", schema 0" in found


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("mysql://u:hunter2@h/d", "must begin with sqlite:///"),
        ("not a url", "is not a database URL"),
        ("postgresql+psycopg://u:hunter2@127.0.0.1:1/d?sslmode=perhaps", "invalid port or option"),
        ("postgresql+psycopg://u:hunter2@127.0.0.1:1/d?nosuch=1", "invalid port or option"),
        ("postgresql+psycopg://u:p@hunter2@h/d", "in the password, write @ as %40"),
        ("postgresql+psycopg://u:p@hunter2/x@h/d", "in the password, write @ as %40"),
        ("postgresql+psycopg://u:p@hunter2?x@h/d", "in the password, write @ as %40"),
        ("postgresql+psycopg://u:p@h:hunter2/d", "the port is not a number"),
        ("sqlite:///", "names no file"),
        ("sqlite:///:memory:", "names no file"),
    ],
)
def test_an_invalid_url_is_refused_without_its_password(url: str, message: str) -> None:
    assert message in fault(url)


def test_a_server_that_is_down_is_unavailable() -> None:
    for place, reason in (
        (f"127.0.0.1:{free_port()}", "Connection refused"),
        ("/d?host=/nowhere", "No such file"),
    ):
        url = f"postgresql+psycopg://u:{SECRET}@{place}"
        with pytest.raises(LedgerUnavailable, match=reason) as caught:
            check_ledger(url)
        assert SECRET not in caught.value.message


def test_a_server_that_is_not_postgresql_is_refused(redis_url: str) -> None:
    place = redis_url.removeprefix("redis://").removesuffix("/0")
    url = f"postgresql+psycopg://u:{SECRET}@{place}/d?sslmode=require&connect_timeout=2"
    with pytest.raises((ConfigError, LedgerUnavailable)) as caught:
        check_ledger(url)
    assert place in str(caught.value)
    assert SECRET not in str(caught.value)


def test_rights_that_a_user_lacks_are_named(postgres: Postgres) -> None:
    url = postgres.create()
    with postgres.connect(make_url(url).database or "") as connection:
        connection.execute("DROP ROLE IF EXISTS nobody_here")
        connection.execute("CREATE ROLE nobody_here LOGIN")
        connection.execute("REVOKE ALL ON ALL TABLES IN SCHEMA public FROM PUBLIC")
    assert "may not read the tables" in fault(url.replace("postgres@", "nobody_here@"))
    assert "has no user 'nosuch'" in fault(url.replace("postgres@", "nosuch@"))


def test_a_database_that_the_url_leaves_out_has_the_users_name(postgres: Postgres) -> None:
    url = f"postgresql+psycopg://postgres@?host={postgres.folder}"
    assert fault(url) == "'postgres' has no tables yet: run `tollgate db upgrade`"


def test_a_migration_needs_a_server_and_no_tables(postgres: Postgres, tmp_path: Path) -> None:
    check_server(postgres.create("template0"))
    check_server(f"sqlite:///{tmp_path / 'new' / 'ledger.db'}")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ConfigError, match="has no database 'nosuch'"):
        check_server(f"postgresql+psycopg://postgres@/nosuch?host={postgres.folder}")


def test_a_file_without_tables_is_told_apart_from_none(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    assert fault(f"sqlite:///{path}").startswith(f"there is no file {path} yet: run `tollgate db")
    assert not path.exists()
    path.touch()
    assert "has no tables yet: run `tollgate db upgrade`" in fault(f"sqlite:///{path}")


def test_a_directory_is_no_ledger(tmp_path: Path) -> None:
    assert "is a directory: add the name of a file" in fault(f"sqlite:///{tmp_path}")


def test_a_replica_has_the_tables_of_the_ledger(postgres: Postgres, database_url: str) -> None:
    with pytest.raises(ConfigError, match="has no tables, so it is no replica of the ledger"):
        check_replica(postgres.create("template0"))
    assert check_replica(database_url).startswith(("SQLite", "PostgreSQL"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to every file")
def test_a_file_that_cannot_be_written_is_refused(sqlite_url: str) -> None:
    path = Path(make_url(sqlite_url).database or "")
    path.chmod(0o444)
    assert fault(sqlite_url) == f"{path} is not writable: check its owner and mode"


def test_a_host_that_has_no_address_is_told_apart_from_a_name_server_that_is_down() -> None:
    def resolving(problem: str) -> str | None:
        orig = Exception(f"failed to resolve host 'h': [Errno -1] {problem}")
        return fault_of(OperationalError("SELECT 1", None, orig), "postgresql+psycopg://u@h/d")

    unknown = resolving("Name or service not known")
    assert unknown == "the host of PostgreSQL at h cannot be resolved: check the name, and DNS"
    assert resolving("Temporary failure in name resolution") is None


def test_an_error_that_is_not_the_databases_is_no_fault_of_the_url() -> None:
    assert fault_of(None, "sqlite:///x") is None
    assert fault_of(ValueError(), "sqlite:///x") is None


@pytest.fixture
def bouncer(postgres: Postgres) -> Iterator[str]:
    """The URL of a migrated database behind PgBouncer."""
    program = find_pgbouncer()
    if program is None:
        assert "CI" not in os.environ, "CI tests PgBouncer: install it"
        pytest.skip("no PgBouncer here")
    url = postgres.create()
    server = PgBouncer(program, url).start()
    name = make_url(url).database
    yield f"postgresql+psycopg://postgres@127.0.0.1:{server.port}/{name}"
    server.stop()


def test_a_pooler_reports_the_same_faults(bouncer: str) -> None:
    assert check_ledger(bouncer).startswith("PostgreSQL")
    assert "has no database 'nosuch'" in fault(f"{bouncer.rpartition('/')[0]}/nosuch")
    assert "does not let the user 'nobody'" in fault(bouncer.replace("postgres@", "nobody@"))
    assert "parameter `options`" in fault(f"{bouncer}?options=-c%20geqo%3Doff")


def test_a_server_that_is_down_behind_a_pooler_is_unavailable(
    bouncer: str, postgres: Postgres
) -> None:
    postgres.crash()
    try:
        with pytest.raises((LedgerUnavailable, TimeoutError)):  # the pooler waits for it
            Check(lambda: check_ledger(bouncer), 2.0).result()
    finally:
        postgres.serve()
