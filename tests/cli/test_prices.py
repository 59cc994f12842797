"""`tollgate prices`."""

import json
import shutil
from pathlib import Path

import pytest

from app.cli.commands import prices as command
from app.ledger.posting import Ledger
from app.pricing.price_book import NO_PRICES, load_prices
from app.pricing.snapshot import SNAPSHOT_FILE
from tests.cli.command import Tollgate
from tests.support.events import usage_event

#: 2026-09-01T00:00:00Z
MIDNIGHT_MS = 1_788_220_800_000
SEPTEMBER = ("--since", "2026-09-01", "--until", "2026-10-01")


@pytest.fixture
def priced(tollgate: Tollgate, prices_file: Path) -> Tollgate:
    """The command line with a price file of its own."""
    env = {"TOLLGATE_PRICES": str(prices_file)}
    return Tollgate(tollgate.database_url, tollgate.engine, env)


def post(tollgate: Tollgate, *models: str) -> None:
    Ledger(tollgate.engine, NO_PRICES).post(
        usage_event(model=model, model_served=model, started_at_ms=MIDNIGHT_MS) for model in models
    )


def test_a_price_is_shown_in_dollars_a_million_tokens(priced: Tollgate) -> None:
    result = priced.run("prices", "show", "openai/m")
    headings, row = result.stdout.splitlines()
    assert headings.split()[3:5] == ["input", "cached"]
    assert row.split() == ["0", *["0.15"] * 5, *["0.6"] * 3, *["0.15"] * 2]
    assert headings.split()[-2:] == ["input_image", "cached_image"]
    assert "file:openai/m#" in result.stderr
    shown = json.loads(priced.run("prices", "show", "openai/gpt-4o", "--json").stdout)
    (tier,) = shown["usd_per_million_tokens"]
    assert (tier["input"], tier["cached"], tier["output"]) == ("2.5", "1.25", "10")
    assert (tier["output_image"], shown["usd_per_thousand_searches"]) == (None, "10")


def test_a_price_says_since_when_it_is_in_force_and_for_which_tier(
    tollgate: Tollgate, tmp_path: Path
) -> None:
    path, row = tmp_path / "own.toml", '[[prices]]\nmodel = "x/m"\ninput = {0}\noutput = {0}\n{1}\n'
    rows = [
        (3, "from = 2026-10-01"),
        (1, ""),
        (2, "from = 2026-09-01"),
        (9, 'service_tier = "flex"'),
    ]
    path.write_text("".join(row.format(*it) for it in rows))
    run = Tollgate(tollgate.database_url, tollgate.engine, {"TOLLGATE_PRICES": str(path)}).run

    def shown(*options: str) -> tuple[str, str | None]:
        found = json.loads(run("prices", "show", "x/m", "--json", *options).stdout)
        return found["usd_per_million_tokens"][0]["input"], found["in_force_from"]

    assert shown("--at", "2026-08-31") == ("1", None)
    assert shown("--at", "2026-09-30") == ("2", "2026-09-01")
    assert shown("--at", "2026-10-01") == ("3", "2026-10-01")
    assert shown("--tier", "flex") == ("9", None)
    assert shown("--tier", "default", "--at", "2026-10-01") == ("3", "2026-10-01")
    said = run("prices", "show", "x/m", "--at", "2026-09-30").stderr
    assert "effective from 2026-09-01 (UTC)" in said
    result = run("prices", "show", "x/m", "--tier", "priority", exit_code=1)
    assert "x/m in the service tier priority is unknown" in result.stderr


def test_a_price_that_is_not_known_is_said_with_exit_code_1(priced: Tollgate) -> None:
    result = priced.run("prices", "show", "openai/nonsense", exit_code=1)
    assert "TOLLGATE_PRICES" in result.stderr
    priced.run("prices", "show", "gpt-4o", exit_code=2)


def test_what_lacks_a_price_is_listed_and_then_put_in_and_recorded(priced: Tollgate) -> None:
    post(priced, "m", "m", "new")
    found = json.loads(priced.run("prices", "missing", *SEPTEMBER, "--json").stdout)
    assert {(it["model"], it["requests"], it["known_now"]) for it in found} == {
        ("m", 2, True),
        ("new", 1, False),
    }
    table = priced.run("prices", "missing", *SEPTEMBER).stdout.splitlines()
    assert table[1].split() == ["openai/m", "openai/m", "2", "10", "2026-09-01T00:00:00Z", "yes"]

    result = priced.run("prices", "update", *SEPTEMBER)
    assert result.stdout == "2 of 3 entries changed, by +$0.0000033 in total.\n"
    assert "2 now have file:openai/m#" in result.stderr
    (only,) = json.loads(priced.run("prices", "missing", *SEPTEMBER, "--json").stdout)
    assert only["model"] == "new"
    row = priced.run("prices", "log").stdout.splitlines()[1].split()
    assert row[1:] == ["2026-09-01T00:00:00Z", "2026-10-01T00:00:00Z", "2", "+$0.0000033"]
    usage = priced.run("usage", *SEPTEMBER, "--by", "model", "--format", "json").stdout
    costs = {it["model"]: it["cost_usd"] for it in json.loads(usage)["rows"]}
    assert costs == {"openai/m": "0.0000033", "openai/new": None}


def test_what_a_model_with_a_price_lacks_is_named(tollgate: Tollgate) -> None:
    drawn = {"image_completion_tokens": 1, "web_search_calls": 1}
    at = {"model": "gpt-4.1", "model_served": None, "started_at_ms": MIDNIGHT_MS}
    Ledger(tollgate.engine, load_prices()).post([usage_event(**at, **drawn), usage_event(**at)])
    (found,) = json.loads(tollgate.run("prices", "missing", *SEPTEMBER, "--json").stdout)
    assert (found["requests"], found["tokens"], found["known_now"]) == (1, 5, False)
    assert found["lacks"] == ["output_image"]
    line = tollgate.run("prices", "missing", *SEPTEMBER).stdout.splitlines()[1]
    assert line.split()[-2:] == ["no", "output_image"]


def test_when_everything_has_a_price_that_is_said(priced: Tollgate) -> None:
    result = priced.run("prices", "missing")
    assert (result.stdout, result.stderr) == ("", "All usage has a price.\n")


def test_an_update_must_be_told_from_when(priced: Tollgate) -> None:
    priced.run("prices", "update", exit_code=2)
    priced.run("prices", "update", "--since", "2026-10-01", "--until", "2026-09-01", exit_code=2)


def test_a_price_file_that_is_wrong_or_not_there_is_a_sentence(
    tollgate: Tollgate, tmp_path: Path
) -> None:
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("[[prices]]\nmodel = 5\n")
    for path, problem in (
        (wrong, "number 1"),
        (tmp_path / "nowhere", "must be the path of a file"),
    ):
        env = {"TOLLGATE_PRICES": str(path)}
        run = Tollgate(tollgate.database_url, tollgate.engine, env).run
        result = run("prices", "show", "openai/m", exit_code=1)
        assert result.stderr.startswith("Error: ")
        assert problem in result.stderr


def test_prices_are_renewed_from_the_installed_package(
    tollgate: Tollgate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "prices.json"
    shutil.copyfile(SNAPSHOT_FILE, copy)
    old = json.loads(copy.read_bytes())
    models = old["providers"]["openai"]["models"]
    models[0]["prices"] = []
    models.pop()
    old["providers"]["gone"] = {"fallbacks": [], "models": [models[1]]}
    copy.write_text(json.dumps(old | {"version": "genai-prices 0.0.1"}))
    monkeypatch.setattr(command, "SNAPSHOT_FILE", copy)
    result = tollgate.run("prices", "import")
    assert result.stdout.startswith("From genai-prices 0.0.1 to genai-prices ")
    assert result.stdout.endswith(": 1 models added, 1 changed, 1 removed.\n")
    assert copy.read_bytes() == SNAPSHOT_FILE.read_bytes()
