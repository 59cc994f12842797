"""Invoices as files for machines."""

import csv
import io
import json
from pathlib import Path

from sqlalchemy import Engine

from app.cli.invoice_forms import COLUMNS, as_csv, as_json, status_of
from app.ledger.posting import Ledger
from app.usage.messages.call_usage import CallUsage
from app.vocabulary.completion import Usage
from tests.ledger.invoices.events import book, invoice_of, request


def test_every_record_has_the_same_columns_and_no_cell_is_a_formula(
    engine: Engine, tmp_path: Path
) -> None:
    usage = Usage(prompt_tokens=3, total_tokens=3)
    calls = tuple(CallUsage.of("openai", it, it, None, usage) for it in ("m", "long"))
    Ledger(engine, book(tmp_path)).post(
        [request(vendor="=x", model="m", api_key_id="@key"), request(calls=calls)]
    )
    invoice = invoice_of(engine, by=("api_key",))
    headings, *rows = csv.reader(io.StringIO(as_csv(invoice), newline=""))
    assert tuple(headings) == COLUMNS
    assert {len(row) for row in rows} == {len(COLUMNS)}
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "@", "+", "-"))]
    assert ("'=x/m", "'@key") in [(row[5], row[6]) for row in rows]
    several = [row for row in rows if " + " in row[headings.index("price")]]
    assert [row[headings.index("input_usd_per_million")] for row in several] == [""]


def test_json_has_the_prices_of_each_line(engine: Engine, tmp_path: Path) -> None:
    Ledger(engine, book(tmp_path)).post([request(model="long", prompt_tokens=2_000)])
    invoice = invoice_of(engine)
    shown = json.loads(as_json(invoice))
    [line] = shown["lines"]
    [price] = line["prices"]
    assert price["above_prompt_tokens"] == 1_000
    assert price["usd_per_million_tokens"]["input"] == "2500"
    assert line["tokens"]["input"] == 2_000
    assert line["first_request"] == "2026-11-01T00:00:00+00:00"
    assert shown["status"] == status_of(invoice) == "final"
