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
from app.pricing.rates import PER_THOUSAND, RATE_NAMES, rate_name, shown_rate
from app.vocabulary.money import dollars


def _count_name(kind: str) -> str:
    return "web_searches" if kind == "web_search" else f"{kind}_tokens"


COLUMNS: tuple[str, ...] = (
    "record",
    "account",
    "month",
    "timezone",
    "status",
    "model",
    "key",
    "endpoint",
    "price",
    "above_prompt_tokens",
    "first_request",
    "last_request",
    "requests",
    "failed_requests",
    "estimated_requests",
    "unpriced_requests",
    *map(_count_name, RATE_NAMES),
    *map(rate_name, RATE_NAMES),
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
    cells = _counts(line) | {_count_name(kind): count for kind, count in line.tokens.items()}
    cells["price"] = " + ".join(dict.fromkeys(it.price_id for it in line.prices)) or None
    if len(line.prices) == 1:  # several prices have no column
        cells["above_prompt_tokens"] = line.prices[0].above_prompt_tokens
        rates = _rates(line.prices[0])
        cells |= {rate_name(kind): rate for kind, rate in rates.items()}
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
        "endpoint": line.endpoint,
        "requests": line.requests,
        "failed_requests": line.failed,
        "estimated_requests": line.estimated,
        "unpriced_requests": line.unpriced,
    }


def _rates(price: UnitPrice) -> dict[str, str | None]:
    """Return dollars by kind, as people write them; {} if they are not stored."""
    rates = asdict(price.rates) if price.rates is not None else {}
    return {kind: shown_rate(kind, rate) for kind, rate in rates.items()}


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
    tokens = {kind: it for kind, it in line.tokens.items() if kind not in PER_THOUSAND}
    return _counts(line) | {
        "tokens": tokens,
        "web_searches": line.tokens["web_search"],
        "prices": [_price_object(it) for it in line.prices],
        "exact_usd": _usd(line.cost_nanousd),
    }


def _price_object(price: UnitPrice) -> dict[str, Any]:
    rates = _rates(price)
    searches = rates.pop("web_search", None)
    return {
        "price_id": price.price_id,
        "above_prompt_tokens": price.above_prompt_tokens,
        "usd_per_million_tokens": rates or None,
        "usd_per_thousand_searches": searches,
    }


def _usd(nanousd: int | None) -> str | None:
    return None if nanousd is None else dollars(nanousd)


def _cents(cents: int | None) -> str | None:
    return None if cents is None else show_cents(cents)
