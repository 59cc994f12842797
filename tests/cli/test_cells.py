"""`tollgate cells`."""

import json
import time

from app.ledger.cells import Cell, list_cells, record_cell
from tests.cli.command import Tollgate


def test_cells_are_listed_and_one_that_is_gone_is_forgotten(tollgate: Tollgate) -> None:
    assert "No cell has posted" in tollgate.run("cells", "list").stderr
    gone, here = Cell("gone", 1_000, 2_000), Cell("here", 3_000, 4_000)
    for cell in (gone, here):
        record_cell(tollgate.engine, cell)
    assert [it["cell_id"] for it in json.loads(tollgate.run("cells", "list", "--json").stdout)] == [
        "gone",
        "here",
    ]
    assert "1970-01-01" in tollgate.run("cells", "list").stdout
    assert tollgate.run("cells", "forget", "gone").stderr == "Forgot the cell gone.\n"
    assert list_cells(tollgate.engine) == [here]
    assert "no cell gone" in tollgate.run("cells", "forget", "gone", exit_code=1).stderr


def test_a_cell_whose_worker_runs_is_not_forgotten(tollgate: Tollgate) -> None:
    now_ms = int(time.time() * 1000)
    live = Cell("main", now_ms, now_ms)
    record_cell(tollgate.engine, live)
    assert "main is live" in tollgate.run("cells", "forget", "main", exit_code=1).stderr
    assert list_cells(tollgate.engine) == [live]
