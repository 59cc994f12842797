"""Renders an invoice as one HTML file that needs no other file, to read or to print."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from app.ledger.invoices.cents import show_cents
from app.ledger.invoices.invoice import Invoice
from app.ledger.invoices.lines import InvoiceLine
from app.ledger.invoices.notes import notes
from app.pricing.rates import PER_THOUSAND
from app.vocabulary.money import show_usd

#: Kind of token -> its name for people.
KINDS: Mapping[str, str] = {
    "input": "input",
    "cached": "cached input",
    "cache_write": "cache write",
    "input_audio": "audio input",
    "cached_audio": "cached audio input",
    "output": "output",
    "reasoning": "reasoning",
    "output_audio": "audio output",
    "cache_write_1h": "cache write for an hour",
    "input_image": "image input",
    "cached_image": "cached image input",
    "output_image": "image output",
    "web_search": "web searches",
}


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of token of a line; `rates` are dollars per million, one for each of its prices.

    Those of searches are per thousand, and say so.
    """

    name: str
    tokens: int
    rates: str


def as_html(invoice: Invoice) -> str:
    """Return the page. Names that users chose are escaped."""
    environment = Environment(
        loader=PackageLoader("app.cli"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["count"] = "{:,}".format
    lines = zip(invoice.lines, invoice.cents(), strict=True)
    return environment.get_template("invoice.html").render(
        invoice=invoice,
        period=_period(invoice),
        draft_reasons=list(invoice.draft_reasons()),
        lines=[_shown(line, cents, _dates(invoice, line)) for line, cents in lines],
        total=_amount(invoice.total_cents),
        notes=notes(invoice),
        read_at=f"{datetime.fromtimestamp(invoice.read_at_s, UTC):%Y-%m-%d %H:%M} UTC",
    )


def _period(invoice: Invoice) -> str:
    month = invoice.month
    first = datetime.fromtimestamp(month.start_s, month.zone)
    last = datetime.fromtimestamp(month.end_s - 1, month.zone)
    return f"{first:%Y-%m-%d} to {last:%Y-%m-%d} ({month.zone})"


def _dates(invoice: Invoice, line: InvoiceLine) -> str:
    """Return the days of the first and the last request, if the model has several lines."""
    same = [it for it in invoice.lines if it.place[:4] == line.place[:4]]
    if len(same) == 1:
        return ""
    zone = invoice.month.zone
    ends = (datetime.fromtimestamp(it / 1000, zone) for it in (line.first_ms, line.last_ms))
    return " to ".join(f"{it:%Y-%m-%d}" for it in ends)


def _shown(line: InvoiceLine, cents: int | None, dates: str) -> dict[str, Any]:
    return {
        "line": line,
        "remarks": [it for it in (*_remarks(line), dates) if it],
        "kinds": [
            Kind(name, tokens, _rates(line, kind))
            for kind, name in KINDS.items()
            if (tokens := line.tokens[kind])
        ]
        or [Kind("", 0, "")],
        "amount": _amount(cents),
    }


def _rates(line: InvoiceLine, kind: str) -> str:
    rates = [asdict(it.rates)[kind] if it.rates else None for it in line.prices]
    known = dict.fromkeys("?" if rate is None else _rate(kind, rate) for rate in rates)
    return " / ".join(known) or "not stored" if line.cost_nanousd is not None else "unknown"


def _rate(kind: str, nanousd: int) -> str:
    return f"{show_usd(nanousd // 1000)} per 1,000" if kind in PER_THOUSAND else show_usd(nanousd)


def _remarks(line: InvoiceLine) -> Iterator[str]:
    """Yield what is special about a line's price."""
    if line.cost_nanousd is None:
        yield "no known price"
    elif line.unpriced:
        yield f"{line.unpriced:,} of them without a known price"
    if len(line.prices) > 1:
        yield "several vendor calls per request"
    elif line.prices and (above := line.prices[0].above_prompt_tokens):
        yield f"prompts of more than {above:,} tokens"
    if line.is_pruned:
        yield "requests deleted, totals kept"


def _amount(cents: int | None) -> str:
    if cents is None:
        return "unknown"
    whole, _, part = show_cents(cents).partition(".")
    return f"${int(whole):,}.{part}"
