"""Usage events of a busy installation, and the totals that the ledger must have. No I/O."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from app.pricing.price_book import PriceBook
from app.usage.cost import cost_of
from app.usage.messages.event import UsageEvent
from app.usage.messages.event_id import new_event_id

ACCOUNTS = 100
KEYS_PER_ACCOUNT = 2

#: Models of several vendors that have built-in prices.
MODELS: tuple[tuple[str, str], ...] = (
    ("openai", "gpt-4o"),
    ("openai", "gpt-4o-mini"),
    ("anthropic", "claude-sonnet-4-5"),
    ("gemini", "gemini-2.5-flash"),
    ("mistral", "mistral-small-latest"),
    ("groq", "llama-3.3-70b-versatile"),
)


@dataclass(frozen=True, slots=True)
class Sums:
    """The totals of an account: tokens, nano-dollars, and requests with a price."""

    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_nanousd: int = 0
    priced_requests: int = 0

    def plus(self, prompt_tokens: int, completion_tokens: int, cost_nanousd: int | None) -> "Sums":
        """Return the totals with one more request."""
        return Sums(
            self.requests + 1,
            self.prompt_tokens + prompt_tokens,
            self.completion_tokens + completion_tokens,
            self.cost_nanousd + (cost_nanousd or 0),
            self.priced_requests + (cost_nanousd is not None),
        )


def events(count: int, start_ms: int, span_ms: int) -> Iterator[UsageEvent]:
    """Yield `count` events with unique ids, of requests spread over `span_ms`."""
    for number in range(count):
        yield _event(number, start_ms + number * span_ms // count)


def _event(number: int, started_at_ms: int) -> UsageEvent:
    vendor, model = MODELS[number % len(MODELS)]
    account = number % ACCOUNTS
    prompt, completion = number % 2003, number % 307 + 1
    return UsageEvent(
        event_id=new_event_id(started_at_ms),
        request_id=f"req_{number:024x}",
        account_id=f"account-{account:03}",
        api_key_id=f"key_{account:03}_{number // ACCOUNTS % KEYS_PER_ACCOUNT}",
        user=f"user-{number % 997}",
        vendor=vendor,
        model=model,
        vendor_served=vendor,
        model_served=model,
        service_tier=None,
        stream=number % 3 == 0,
        status="completed",
        source="vendor",
        prompt_source="vendor",
        completion_source="vendor",
        prompt_tokens=prompt,
        completion_tokens=completion,
        total_tokens=prompt + completion,
        cached_tokens=prompt // 4,
        cache_write_tokens=0,
        reasoning_tokens=0,
        audio_prompt_tokens=0,
        audio_completion_tokens=0,
        accepted_prediction_tokens=0,
        rejected_prediction_tokens=0,
        vendor_request_id=f"chatcmpl-{number:029x}",
        http_status=200,
        attempts=1,
        client_retry_count=0,
        started_at_ms=started_at_ms,
        first_token_ms=number % 400 + 80,
        duration_ms=number % 4000 + 500,
    )


def add_up(sums: dict[str, Sums], batch: Iterable[UsageEvent], prices: PriceBook) -> None:
    """Yield the events while adding each to its account's totals."""
    for event in batch:
        cost_nanousd = cost_of(event, prices).nanousd
        known = sums.get(event.account_id, Sums())
        sums[event.account_id] = known.plus(
            event.prompt_tokens, event.completion_tokens, cost_nanousd
        )


def differences(expected: Mapping[str, Sums], found: Mapping[str, Sums]) -> list[str]:
    """Return a line for each account whose totals differ from what was published."""
    return [
        f"{account}: published {expected.get(account)}, found {found.get(account)}"
        for account in sorted({*expected, *found})
        if expected.get(account) != found.get(account)
    ]
