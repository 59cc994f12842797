"""`tollgate invoice`."""

import csv
import io
import json
import time
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from app.accounts.accounts import Accounts
from app.container import EXTENSION
from app.factory import create_app
from app.ledger.cells import Cell, record_cell
from app.ledger.posting import Ledger
from app.settings import Settings
from app.storage.redis.connection import connect
from app.usage.missing import Search
from app.usage.redis.processes import Processes
from tests.api.usage_site import COSTS
from tests.cli.command import Tollgate
from tests.ledger.invoices.events import PRICES, book, request

MONTH = ("--month", "2026-10")
#: Days from the beginning of November to a day in October, whose month is over.
OCTOBER = -20


@pytest.fixture
def books(tollgate: Tollgate, tmp_path: Path) -> Ledger:
    """The ledger that the commands read, with prices and the accounts `acme` and `beta`."""
    for account_id in ("acme", "beta"):
        Accounts(tollgate.engine).create(account_id, f"{account_id} <Ltd>")
    return Ledger(tollgate.engine, book(tmp_path))


def complete(tollgate: Tollgate, redis_url: str) -> Tollgate:
    """Return the command line with a Redis whose worker has found everything in the ledger."""
    with connect(redis_url, 5.0) as redis:
        Processes(redis).store({}, Search(int(time.time() * 1000)))
    record_cell(tollgate.engine, Cell("main", int(time.time() * 1000), 0))
    return replace(tollgate, env={"REDIS_URL": redis_url})


def as_json(tollgate: Tollgate, *arguments: str) -> dict[str, Any]:
    text = tollgate.run("invoice", *arguments, "--format", "json").stdout
    found: dict[str, Any] = json.loads(text)
    return found


def test_all_forms_have_the_same_lines_and_add_up(
    tollgate: Tollgate, books: Ledger, redis_url: str
) -> None:
    books.post(
        [
            *(request(OCTOBER, prompt_tokens=4, completion_tokens=0) for _ in range(3)),
            request(OCTOBER, model="long", prompt_tokens=1, completion_tokens=0),
            request(OCTOBER, model="new"),
            request(OCTOBER, account_id="beta", prompt_tokens=10**6),
        ]
    )
    ready = complete(tollgate, redis_url)
    invoice = as_json(ready, "acme", *MONTH)
    assert (invoice["status"], invoice["draft_reasons"]) == ("final", [])
    assert [(it["model"], it["exact_usd"], it["amount_usd"]) for it in invoice["lines"]] == [
        ("openai/long", "0.00125", "0.00"),
        ("openai/m", "0.012", "0.01"),
        ("openai/new", None, None),
    ]
    assert (invoice["total"]["exact_usd"], invoice["total"]["amount_usd"]) == ("0.01325", "0.01")
    assert invoice["total"]["unpriced_requests"] == 1

    text = ready.run("invoice", "acme", *MONTH).stdout
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    lines = [row for row in rows if row["record"] == "line"]
    assert [(it["model"], it["exact_usd"], it["amount_usd"]) for it in lines] == [
        (it["model"], it["exact_usd"] or "", it["amount_usd"] or "") for it in invoice["lines"]
    ]
    [total] = [row for row in rows if row["record"] == "total"]
    assert (total["status"], total["requests"], total["amount_usd"]) == ("final", "5", "0.01")
    said = [row["text"] for row in rows if row["record"] == "note"]
    # But for the time at which each was read.
    assert (said[:2], said[3], len(said)) == (
        invoice["notes"][:2],
        invoice["notes"][3],
        len(invoice["notes"]),
    )
    assert (lines[1]["input_tokens"], lines[1]["input_usd_per_million"]) == ("12", "1000")

    page = ready.run("invoice", "acme", *MONTH, "--format", "html").stdout
    assert "$0.01</td>" in page
    assert "unknown" in page
    assert "acme &lt;Ltd&gt;" in page


def test_lines_may_be_by_key_and_the_month_local(tollgate: Tollgate, books: Ledger) -> None:
    end_s = datetime(2026, 10, 31, 22, 30, tzinfo=UTC).timestamp()  # 2026-11-01 in Kathmandu
    books.post(request(started_at_ms=int(end_s * 1000), api_key_id=key) for key in ("k1", "k2"))
    assert [it["key"] for it in as_json(tollgate, "acme", *MONTH, "--by", "key")["lines"]] == [
        "k1",
        "k2",
    ]
    by_both = as_json(tollgate, "acme", *MONTH, "--by", "endpoint,key")["lines"]
    assert [(it["key"], it["endpoint"]) for it in by_both] == [
        ("k1", "completions"),
        ("k2", "completions"),
    ]
    zone = ("--timezone", "Asia/Kathmandu")
    assert as_json(tollgate, "acme", *MONTH, *zone)["lines"] == []
    november = as_json(tollgate, "acme", "--month", "2026-11", *zone)
    assert [it["requests"] for it in november["lines"]] == [2]
    assert november["start"] == "2026-11-01T00:00:00+05:45"


def test_a_month_that_is_not_known_to_be_complete_is_a_draft(
    tollgate: Tollgate, books: Ledger, redis_url: str
) -> None:
    books.post([request(OCTOBER)])
    result = tollgate.run("invoice", "acme", *MONTH, "--format", "json")
    assert json.loads(result.stdout)["status"] == "draft"
    assert "Draft: How far the ledger is complete is unknown" in result.stderr
    nowhere = replace(tollgate, env={"REDIS_URL": "redis://127.0.0.1:1/0"})
    result = nowhere.run("invoice", "acme", *MONTH, "--format", "html")
    assert "Draft invoice 2026-10" in result.stdout
    assert "Check REDIS_URL" in result.stderr
    ready = complete(tollgate, redis_url)
    assert (
        "<h1>Invoice 2026-10</h1>"
        in ready.run("invoice", "acme", *MONTH, "--format", "html").stdout
    )
    now = datetime.now(UTC)
    running = as_json(ready, "acme", "--month", f"{now:%Y-%m}")
    assert running["draft_reasons"] == [f"{now:%Y-%m} has not ended."]


def test_a_file_is_written_whole_and_may_start_with_a_byte_order_mark(
    tollgate: Tollgate, books: Ledger, tmp_path: Path
) -> None:
    books.post([request(OCTOBER, model="=m")])
    path = tmp_path / "acme.csv"
    result = tollgate.run("invoice", "acme", *MONTH, "--bom", "--output", str(path))
    assert result.stdout == ""
    assert path.read_bytes().startswith(b"\xef\xbb\xbfrecord,account,")
    plain = tollgate.run("invoice", "acme", *MONTH).stdout_bytes
    assert not plain.startswith(b"\xef")
    missing = tmp_path / "no" / "acme.csv"
    result = tollgate.run("invoice", "acme", *MONTH, "--output", str(missing), exit_code=1)
    assert str(missing.parent) in result.stderr


@pytest.mark.parametrize(
    ("arguments", "exit_code", "said"),
    [
        (["nobody", *MONTH], 1, "There is no account nobody"),
        (["acme"], 2, "--month"),
        (["acme", "--month", "2026-13"], 2, "must be a month, such as 2026-11"),
        (["acme", "--month", "2999-01"], 2, "2999-01 has not begun"),
        (["acme", *MONTH, "--format", "pdf"], 2, "'csv', 'json', 'html'"),
        (["acme", *MONTH, "--format", "json", "--bom"], 2, "--format csv"),
        (["acme", *MONTH, "--by", "user"], 2, "unknown column 'user'. Columns are key, endpoint"),
    ],
)
@pytest.mark.usefixtures("books")
def test_what_cannot_be_invoiced_is_said(
    tollgate: Tollgate, arguments: list[str], exit_code: int, said: str
) -> None:
    result = tollgate.run("invoice", *arguments, exit_code=exit_code)
    assert said in result.stderr
    assert result.stdout == ""


@pytest.fixture
def priced(settings: Settings, database_url: str, tmp_path: Path) -> Settings:
    """A deployment on the ledger that the commands read."""
    path = tmp_path / "prices.toml"
    path.write_text(PRICES)
    return replace(settings, database_url=database_url, prices_file=path)


def costs_of(settings: Settings, start: str, end: str, zone: str) -> list[dict[str, Any]]:
    """Return what the cost API says of each day and account."""
    app = create_app(settings)
    start_s, end_s = (int(datetime.fromisoformat(it).timestamp()) for it in (start, end))
    query = {"start_time": start_s, "end_time": end_s, "timezone": zone, "limit": 180}
    engine = app.extensions[EXTENSION].engine
    _, secret = Accounts(engine).create_key([], ["admin"])
    answer = app.test_client().get(
        COSTS,
        query_string={**query, "group_by": "project_id"},
        headers={"x-api-key": secret},
    )
    app.extensions[EXTENSION].close()
    engine.dispose()
    body = json.loads(answer.get_data(as_text=True), parse_float=Decimal)
    return [it for bucket in body["data"] for it in bucket["results"]]


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kathmandu"])
def test_the_invoices_of_all_accounts_are_what_the_cost_api_says(
    tollgate: Tollgate, books: Ledger, priced: Settings, zone: str
) -> None:
    books.post(
        request(day / 3 - 32, account_id=account, model=model, prompt_tokens=day * 97)
        for day in range(110)
        for account in ("acme", "beta")
        for model in ("m", "long", "new")
    )
    invoices = [as_json(tollgate, it, *MONTH, "--timezone", zone) for it in ("acme", "beta")]
    results = costs_of(priced, invoices[0]["start"], invoices[0]["end"], zone)
    costs = dict.fromkeys(("acme", "beta"), Decimal(0))
    unpriced = dict.fromkeys(("acme", "beta"), 0)
    for it in results:
        costs[it["project_id"]] += it["amount"]["value"]
        unpriced[it["project_id"]] += it["unpriced_requests"]
    for invoice in invoices:
        name, total = invoice["account"]["id"], invoice["total"]
        assert Decimal(total["exact_usd"]) == costs[name] > 0
        assert total["unpriced_requests"] == unpriced[name] > 0
        cents = [Decimal(it["amount_usd"]) for it in invoice["lines"] if it["amount_usd"]]
        assert sum(cents) == Decimal(total["amount_usd"])
        assert abs(Decimal(total["amount_usd"]) - costs[name]) <= Decimal("0.005")
