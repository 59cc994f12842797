"""The notes of an invoice."""

from dataclasses import replace
from pathlib import Path

from sqlalchemy import Engine

from app.ledger.invoices.invoice import Invoice
from app.ledger.invoices.notes import PRICING, ROUNDING, notes
from app.ledger.posting import Ledger
from app.ledger.repricing import Repricing
from app.usage.messages.call_usage import CallUsage
from app.vocabulary.completion import Usage
from tests.ledger.invoices.events import NOVEMBER, book, invoice_of, request


def said(invoice: Invoice, **origin: object) -> str:
    changed = replace(invoice.origin, **origin)  # type: ignore[arg-type]
    return "\n".join(notes(replace(invoice, origin=changed)))


def test_the_notes_say_what_is_in_the_numbers_and_what_is_not(
    engine: Engine, tmp_path: Path
) -> None:
    nothing = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0, "source": "none"}
    usage = Usage(prompt_tokens=3, total_tokens=3)
    calls = tuple(CallUsage.of("openai", it, it, None, usage) for it in ("m", "long"))
    Ledger(engine, book(tmp_path)).post(
        [
            request(1, source="estimated"),
            request(1, model="new"),
            request(1, status="failed", **nothing),
            request(1, calls=calls),
        ]
    )
    text = said(invoice_of(engine))
    for part in (
        ROUNDING,
        PRICING,
        "from 2026-11-01 00:00:00 UTC until 2026-12-01 00:00:00 UTC",
        "Every request that started before 2026-12-02 00:00:00 UTC is counted.",
        "For 1 of 4 requests, Tollgate estimated tokens",
        "1 request used tokens at an unknown price: NOT in the total.",
        "1 request used no tokens",
        "each call was charged at its own price",
        "Whether any usage is missing is unknown.",
    ):
        assert part in text
    assert "re-priced" not in text
    assert "Budgets" not in text


def test_the_notes_say_what_changed_in_the_ledger(engine: Engine) -> None:
    empty = invoice_of(engine)
    repricing = Repricing("r", NOVEMBER.end_s * 1000, 0, 1, 2, 3)
    text = said(
        empty,
        is_replica=True,
        complete_until_ms=None,
        pruned_until_s=NOVEMBER.start_s + 86_400,
        repricings=(repricing,),
        corrected_requests=1_234,
        corrected_nanousd=-5 * 10**8,
        missing_requests=7,
        written_off=2,
    )
    for part in (
        "a read replica",
        "Until when the ledger is complete is unknown.",
        "The single requests before 2026-11-02 00:00:00 UTC were deleted",
        "which is included: 2026-12-01 00:00:00 UTC.",
        "1,234 requests on these days, and were corrected by -$0.5",
        "The usage of 7 requests of all accounts is missing",
        "The usage of 2 requests of all accounts was lost and written off",
    ):
        assert part in text
    assert "No usage is known to be missing." in said(empty, missing_requests=0)
