"""`tollgate reconcile`: cells that no longer record how far they are."""

import time

from app.ledger.cells import Cell, record_cell
from tests.cli.command import Tollgate


def test_a_silent_cell_is_a_problem_until_it_is_forgotten(
    tollgate: Tollgate, redis_url: str, tmp_path: object
) -> None:
    now_ms = int(time.time() * 1000)
    record_cell(tollgate.engine, Cell("here", 1, now_ms))
    record_cell(tollgate.engine, Cell("gone", 1, now_ms - 120_000))
    env = {"REDIS_URL": redis_url, "TOLLGATE_SPOOL_DIR": f"{tmp_path}/spool"}
    both = Tollgate(tollgate.database_url, tollgate.engine, env)
    problems = both.run("reconcile", exit_code=1).stderr
    assert "tollgate cells forget gone" in problems
    assert "here" not in problems
    both.run("cells", "forget", "gone")
    assert "No problems found." in both.run("reconcile").stderr
