"""One request in words, for `tollgate requests`. No I/O."""

from collections.abc import Iterator

from app.cli.tables import Cell, format_table
from app.cli.times import show_time
from app.ledger.posting import Entry
from app.ledger.reports.recent import Request
from app.usage.messages.event import UsageEvent
from app.vocabulary.completion import USAGE_COUNTS
from app.vocabulary.money import show_usd

ATTEMPT_HEADINGS = ("call", "vendor", "model", "began", "took", "status", "error", "vendor's id")

#: What each status means, for people who did not write this program.
MEANINGS = {
    "completed": "the caller got the whole answer",
    "failed": "the caller got an error",
    "disconnected": "the caller disconnected before the end",
    "truncated": "the answer broke off, and the caller got an error in the stream",
    "abandoned": "the web process crashed; the usage is an estimate",
}

UNKNOWN = "unknown: there is no price of the model, or not of all that it used"


def request_row(request: Request) -> tuple[Cell, ...]:
    """Return a request as a row of the list."""
    return (
        show_time(request.started_at_ms),
        request.request_id,
        request.account_id,
        request.endpoint,
        f"{request.vendor}/{request.model}",
        request.status,
        request.error_code,
        request.prompt_tokens + request.completion_tokens,
        None if request.cost_nanousd is None else show_usd(request.cost_nanousd),
        request.duration_ms,
    )


def request_lines(entry: Entry) -> Iterator[str]:
    """Yield the lines that describe a request."""
    facts = [(name, value) for name, value in _facts(entry) if value is not None]
    width = max(len(name) for name, _ in facts)
    for name, value in facts:
        yield f"{name:<{width}}  {_printable(value)}"
    yield from _attempts(entry.event)


def _facts(entry: Entry) -> Iterator[tuple[str, str | None]]:
    event, cost_nanousd, price_id = entry
    yield "Request", event.request_id
    yield "Event", event.event_id
    yield "Status", f"{event.status}: {MEANINGS.get(event.status, 'of a later version')}"
    yield "Error", event.error_code
    yield "Message", event.error_message
    yield "Started", show_time(event.started_at_ms)
    yield "Took", _took(event)
    yield "Account", event.account_id
    yield "API key", event.api_key_id
    yield "User", event.user
    yield "Endpoint", event.endpoint
    yield "Model", f"{event.vendor}/{event.model}"
    yield "Served by", _served(event)
    yield "Streamed", "yes" if event.stream else "no"
    yield "Vendor's status", None if event.http_status is None else str(event.http_status)
    yield "Vendor's request id", event.vendor_request_id
    yield "Vendor calls", str(event.attempts)
    yield "Client retries", str(event.client_retry_count) if event.client_retry_count else None
    yield "Tokens", _tokens(event)
    yield "Counted by", f"prompt: {event.prompt_source}, completion: {event.completion_source}"
    yield "Cost", _cost(event, cost_nanousd)
    yield "Price", price_id


def _took(event: UsageEvent) -> str:
    first = event.first_token_ms
    until = "" if first is None else f", {first:,} ms until the first token"
    return f"{event.duration_ms:,} ms{until}"


def _served(event: UsageEvent) -> str | None:
    if event.model_served is None and event.vendor_served in (None, event.vendor):
        return None
    tier = f" ({event.service_tier})" if event.service_tier else ""
    return f"{event.vendor_served or event.vendor}/{event.model_served or event.model}{tier}"


def _tokens(event: UsageEvent) -> str:
    counts = {name.removesuffix("_tokens"): getattr(event, name) for name in USAGE_COUNTS}
    counts["cache_write_for_1h"] = counts.pop("cache_write_1h")
    told = [f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items() if count]
    return ", ".join(told) or "none"


def _cost(event: UsageEvent, cost_nanousd: int | None) -> str:
    if cost_nanousd is not None:
        return show_usd(cost_nanousd)
    return "nothing was used" if event.is_empty else UNKNOWN


def _attempts(event: UsageEvent) -> Iterator[str]:
    if not event.attempt_log:
        return
    rows: list[tuple[Cell, ...]] = [
        (
            str(at),
            call.vendor,
            call.model,
            f"+{call.started_ms:,} ms",
            f"{call.duration_ms:,} ms",
            call.http_status,
            call.error_code or ("ok" if call.http_status else "cancelled"),
            call.vendor_request_id,
        )
        for at, call in enumerate(event.attempt_log, 1)
    ]
    yield ""
    yield from format_table(ATTEMPT_HEADINGS, rows, pretty=True)
    for at, call in enumerate(event.attempt_log, 1):
        if call.error_message:
            yield f"{at}: {_printable(call.error_message)}"


def _printable(text: str) -> str:
    """Return text that cannot control a terminal."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
