"""Renders an invoice as CSV or JSON. `invoice_page` renders it for people."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from typing import Any

from app.ledger.invoices.cents import show_cents
from app.ledger.invoices.invoice import Invoice
from app.ledger.invoices.lines import InvoiceLine
from app.ledger.invoices.notes import notes
from app.ledger.invoices.unit_prices import UnitPrice
from app.ledger.reports.csv_cells import csv_headings, csv_line
from app.pricing.rates import RATE_NAMES
from app.vocabulary.money import dollars

COLUMNS: tuple[str, ...] = (
    "record",
    "account",
    "month",
    "timezone",
    "status",
    "model",
    "key",
    "price",
    "above_prompt_tokens",
    "first_request",
    "last_request",
    "requests",
    "failed_requests",
    "estimated_requests",
    "unpriced_requests",
    *(f"{kind}_tokens" for kind in RATE_NAMES),
    *(f"{kind}_usd_per_million" for kind in RATE_NAMES),
    "exact_usd",
    "amount_usd",
    "text",
)


def status_of(invoice: Invoice) -> str:
    """Return `final`, or `draft` if its numbers may still change."""
    return "draft" if any(invoice.draft_reasons()) else "final"


def as_csv(invoice: Invoice, *, bom: bool = False) -> str:
    """Return a file with a record for each line, for the total, and for each note.

    Unknown amounts and prices are empty cells.
    """
    return "".join(
        [
            csv_headings(COLUMNS, bom=bom),
            *(csv_line(record.get(name) for name in COLUMNS) for record in _records(invoice)),
        ]
    )


def _records(invoice: Invoice) -> Iterator[dict[str, Any]]:
    same = {
        "account": invoice.account_id,
        "month": str(invoice.month),
        "timezone": str(invoice.month.zone),
        "status": status_of(invoice),
    }
    for line, cents in zip(invoice.lines, invoice.cents(), strict=True):
        amount = {"exact_usd": _usd(line.cost_nanousd), "amount_usd": _cents(cents)}
        yield same | {"record": "line"} | _line_cells(line) | _times(invoice, line) | amount
    yield same | {"record": "total"} | _total(invoice)
    yield from (same | {"record": "draft", "text": it} for it in invoice.draft_reasons())
    yield from (same | {"record": "note", "text": text} for text in notes(invoice))


def _line_cells(line: InvoiceLine) -> dict[str, Any]:
    cells = _counts(line) | {f"{kind}_tokens": count for kind, count in line.tokens.items()}
    cells["price"] = " + ".join(dict.fromkeys(it.price_id for it in line.prices)) or None
    if len(line.prices) == 1:  # several prices have no column
        cells["above_prompt_tokens"] = line.prices[0].above_prompt_tokens
        rates = _rates(line.prices[0])
        cells |= {f"{kind}_usd_per_million": rate for kind, rate in rates.items()}
    return cells


def _times(invoice: Invoice, line: InvoiceLine) -> dict[str, str]:
    zone = invoice.month.zone
    first, last = (
        datetime.fromtimestamp(it // 1000, zone).isoformat() for it in (line.first_ms, line.last_ms)
    )
    return {"first_request": first, "last_request": last}


def _counts(line: InvoiceLine) -> dict[str, Any]:
    return {
        "model": f"{line.vendor}/{line.model}",
        "key": line.api_key_id,
        "requests": line.requests,
        "failed_requests": line.failed,
        "estimated_requests": line.estimated,
        "unpriced_requests": line.unpriced,
    }


def _rates(price: UnitPrice) -> dict[str, str]:
    """Return dollars per million tokens by kind; {} if they are not stored."""
    rates = asdict(price.rates) if price.rates is not None else {}
    return {kind: dollars(rate) for kind, rate in rates.items()}


def _total(invoice: Invoice) -> dict[str, Any]:
    cents = invoice.total_cents
    return {
        "requests": invoice.totals.requests,
        "failed_requests": invoice.totals.failed_requests,
        "estimated_requests": invoice.totals.estimated_requests,
        "unpriced_requests": invoice.unpriced_requests,
        "exact_usd": None if cents is None else dollars(invoice.exact_nanousd),
        "amount_usd": _cents(cents),
    }


def as_json(invoice: Invoice) -> str:
    """Return one object. Counts are whole numbers, amounts strings; an unknown amount is null."""
    month = invoice.month
    shown = {
        "account": {"id": invoice.account_id, "name": invoice.account_name},
        "month": str(month),
        "timezone": str(month.zone),
        "start": datetime.fromtimestamp(month.start_s, month.zone).isoformat(),
        "end": datetime.fromtimestamp(month.end_s, month.zone).isoformat(),
        "status": status_of(invoice),
        "draft_reasons": list(invoice.draft_reasons()),
        "currency": "usd",
        "lines": [
            _line_object(line) | _times(invoice, line) | {"amount_usd": _cents(cents)}
            for line, cents in zip(invoice.lines, invoice.cents(), strict=True)
        ],
        "total": _total(invoice) | {"requests_without_tokens": invoice.totals.empty_requests},
        "notes": notes(invoice),
    }
    return json.dumps(shown, indent=2) + "\n"


def _line_object(line: InvoiceLine) -> dict[str, Any]:
    return _counts(line) | {
        "tokens": dict(line.tokens),
        "prices": [
            {
                "price_id": it.price_id,
                "above_prompt_tokens": it.above_prompt_tokens,
                "usd_per_million_tokens": _rates(it) or None,
            }
            for it in line.prices
        ],
        "exact_usd": _usd(line.cost_nanousd),
    }


def _usd(nanousd: int | None) -> str | None:
    return None if nanousd is None else dollars(nanousd)


def _cents(cents: int | None) -> str | None:
    return None if cents is None else show_cents(cents)
