"""`tollgate reconcile --bill`."""

import json
from pathlib import Path

import pytest

from app.ledger.posting import Ledger
from tests.cli.command import Tollgate
from tests.support.events import usage_event

#: 2026-09-01T00:00:00Z
MIDNIGHT_S = 1_788_220_800


@pytest.fixture
def posted(tollgate: Tollgate) -> Tollgate:
    """A ledger with a request of 3 + 2 tokens, which openai served by the name `m-1`."""
    Ledger(tollgate.engine).post(
        [usage_event(model="m", model_served="m-1", started_at_ms=MIDNIGHT_S * 1000)]
    )
    return tollgate


def bill(tmp_path: Path, text: str) -> tuple[str, ...]:
    path = tmp_path / "bill"
    path.write_text(text)
    return ("reconcile", "--bill", str(path))


def page(input_tokens: int) -> str:
    result = {"model": "m-1", "input_tokens": input_tokens, "output_tokens": 2}
    return json.dumps({"data": [{"start_time": MIDNIGHT_S, "results": [result]}]})


def test_a_bill_that_agrees_is_said_to(posted: Tollgate, tmp_path: Path) -> None:
    for text in (page(3), "day,model,tokens\n2026-09-01,m-1,5\n"):
        result = posted.run(*bill(tmp_path, text))
        assert result.stdout == ""
        assert "agree on openai, 2026-09-01 to 2026-09-01" in result.stderr


def test_each_difference_is_a_line_and_the_exit_code_1(posted: Tollgate, tmp_path: Path) -> None:
    result = posted.run(*bill(tmp_path, page(4)), exit_code=1)
    _, row = result.stdout.splitlines()
    assert row.split() == ["2026-09-01", "m-1", "input_tokens", "4", "3", "1", "0"]
    found = json.loads(posted.run(*bill(tmp_path, page(4)), "--json", exit_code=1).stdout)
    assert found == [
        {
            "day": "2026-09-01",
            "model": "m-1",
            "measure": "input_tokens",
            "billed": 4,
            "recorded": 3,
            "estimated_requests": 0,
        }
    ]


def test_the_vendor_whose_bill_it_is_can_be_named(posted: Tollgate, tmp_path: Path) -> None:
    result = posted.run(*bill(tmp_path, page(3)), "--vendor", "azure", exit_code=1)
    assert len(result.stdout.splitlines()) == 3
    unknown = posted.run(*bill(tmp_path, page(3)), "--vendor", "azzure", exit_code=1)
    assert "There is no vendor entry azzure" in unknown.stderr


def test_a_file_that_is_no_bill_is_a_sentence(posted: Tollgate, tmp_path: Path) -> None:
    result = posted.run(*bill(tmp_path, "nonsense"), exit_code=1)
    assert "needs the columns day, model" in result.stderr
    posted.run("reconcile", "--bill", str(tmp_path / "nowhere"), exit_code=2)
    posted.run(*bill(tmp_path, page(3)), "--rebuild", exit_code=2)
