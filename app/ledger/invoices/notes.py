"""The notes of an invoice: how its numbers were got, in sentences. No I/O."""

from collections.abc import Iterator
from datetime import UTC, datetime

from app.ledger.invoices.invoice import Invoice
from app.vocabulary.money import dollars

ROUNDING = (
    "The ledger holds amounts in nano-dollars. The total is the exact sum, rounded half up to the"
    " cent. Each line gets its whole cents. The cents that are then missing from the total go to"
    " the lines with the largest remainders, so the lines add up to the total."
)
PRICING = (
    "Each request has the price that was effective when it started, rounded to the nano-dollar. If"
    " a price changed in the month, the model has a line for each price. If a price depends on the"
    " length of the prompt, each length has a line."
)


def notes(invoice: Invoice) -> list[str]:
    """Return how the numbers of an invoice were got, and what is not in them."""
    return [ROUNDING, PRICING, *_source(invoice), *_requests(invoice), *_changes(invoice)]


def at(time_s: float) -> str:
    """Return a time in Unix seconds as text, in UTC."""
    return f"{datetime.fromtimestamp(time_s, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _requests_of(count: int) -> str:
    return f"{count:,} request{'' if count == 1 else 's'}"


def _source(invoice: Invoice) -> Iterator[str]:
    origin, month = invoice.origin, invoice.month
    kind = "a read replica of the ledger" if origin.is_replica else "the ledger"
    yield (
        f"Read from {kind} ({origin.ledger}) at {at(invoice.read_at_s)}: all requests that started"
        f" from {at(month.start_s)} until {at(month.end_s)}, which is {month} in {month.zone}."
    )
    if origin.complete_until_ms is None:
        yield "Until when the ledger is complete is unknown."
    else:
        until = at(origin.complete_until_ms / 1000)
        yield f"Every request that started before {until} is counted."
    if origin.pruned_until_s is not None:
        yield (
            f"The single requests before {at(origin.pruned_until_s)} were deleted from the ledger."
            " For these, lines show exact totals, and no unit prices."
        )


def _requests(invoice: Invoice) -> Iterator[str]:
    totals = invoice.totals
    if totals.estimated_requests:
        yield (
            f"For {totals.estimated_requests:,} of {_requests_of(totals.requests)}, Tollgate"
            " estimated tokens, because the vendor did not report them all."
        )
    if unpriced := invoice.unpriced_requests:
        yield (
            f"{_requests_of(unpriced)} used tokens at an unknown price: NOT in the total. List"
            " them: tollgate prices missing. Once the price is known: tollgate prices update"
        )
    if totals.empty_requests:
        yield (
            f"{_requests_of(totals.empty_requests)} used no tokens, after a rejection or a failure."
            " That costs nothing and is on no line."
        )
    if any(len(line.prices) > 1 for line in invoice.lines):
        yield (
            "A line with several prices has requests that took several vendor calls: each call was"
            " charged at its own price."
        )


def _changes(invoice: Invoice) -> Iterator[str]:
    origin = invoice.origin
    if origin.repricings:
        times = ", ".join(at(it.started_at_ms / 1000) for it in origin.repricings)
        yield f"Requests were re-priced with tollgate prices update, which is included: {times}."
    if origin.corrected_requests:
        sign = "-" if origin.corrected_nanousd < 0 else "+"
        yield (
            f"Budgets had counted other costs for {_requests_of(origin.corrected_requests)} on"
            f" these days, and were corrected by {sign}${dollars(abs(origin.corrected_nanousd))}."
            " The invoice has the ledger's costs."
        )
    if origin.missing_requests is None:
        yield "Whether any usage is missing is unknown."
    elif origin.missing_requests:
        yield (
            f"The usage of {_requests_of(origin.missing_requests)} of all accounts is missing, and"
            " may belong here: tollgate reconcile."
        )
    else:
        yield "No usage is known to be missing."
    if origin.written_off:
        yield (
            f"The usage of {_requests_of(origin.written_off)} of all accounts was lost and written"
            " off, by web processes that ran in this month. Some may belong here."
        )
