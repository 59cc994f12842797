"""`tollgate db upgrade`."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from sqlalchemy import inspect, text

from app.cli import main
from app.storage.sql.engine import create_engine
from app.storage.sql.migrations import schema_is_current


@pytest.fixture
def run() -> CliRunner:
    return CliRunner()


def test_upgrade_makes_the_schema_and_may_be_repeated(run: CliRunner, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'new' / 'ledger.db'}"
    for _ in range(2):
        result = run.invoke(main, ["db", "upgrade"], env={"DATABASE_URL": url})
        assert (result.exit_code, result.stdout) == (0, "")
        assert result.stderr == "The ledger's schema is up to date.\n"
    engine = create_engine(url)
    assert schema_is_current(engine)
    assert "entries" in inspect(engine).get_table_names()
    engine.dispose()


def test_upgrade_says_when_the_database_does_not_answer(run: CliRunner) -> None:
    url = "postgres://user:secret@127.0.0.1:1/x"
    result = run.invoke(main, ["db", "upgrade"], env={"DATABASE_URL": url})
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.endswith("Check DATABASE_URL.\n")
    assert "secret" not in result.stderr


def test_upgrade_leaves_the_schema_of_a_newer_version(run: CliRunner, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    assert run.invoke(main, ["db", "upgrade"], env={"DATABASE_URL": url}).exit_code == 0
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    engine.dispose()
    result = run.invoke(main, ["db", "upgrade"], env={"DATABASE_URL": url})
    assert result.exit_code == 0
    assert "(9999) is of a newer version" in result.stderr
