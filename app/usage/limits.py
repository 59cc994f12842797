"""The limiter: admits a request if it fits in the limits of its account and of its key.

Knows what a request may use at most, and how to tell its caller; the counting is in Redis.
"""

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from app.completion import CompletionRequest, Usage
from app.limits import NUMBER_LIMIT, Limits, period_end, period_start
from app.usage.event import UsageEvent
from app.usage.keys import LIMITS
from app.usage.limit_words import Outcome, limit_headers, refusal, warning
from app.usage.prices import PriceBook
from app.usage.reservations import FIRST_TIME, Check, Reservations, Spent
from app.usage.spending import Spending

#: What a choice may use that the caller set no bound to. A vendor's own bound may be higher: then
#: the rest is charged when it has been used.
UNBOUND_TOKENS = 1024

#: Bytes of text that make one token, roughly: UTF-8 spends more of them on scripts that do, too.
BYTES_PER_TOKEN = 4

#: More tokens than any limit allows.
TOKENS_LIMIT = 2 * NUMBER_LIMIT

#: Sums of two such numbers are exact in Redis' scripts.
MONEY_LIMIT_NANOUSD = 2**52

logger = logging.getLogger(__name__)


class Limited(Protocol):
    """A request that is to be admitted."""

    @property
    def event_id(self) -> str:
        """The identity of its event."""
        ...

    @property
    def started_at_ms(self) -> int:
        """When it started, in Unix milliseconds."""
        ...

    @property
    def limits(self) -> Sequence[Limits]:
        """What it must fit in."""
        ...

    @property
    def request(self) -> CompletionRequest:
        """What is asked for."""
        ...


@dataclass(frozen=True, slots=True)
class Admission:
    """A request was admitted; `headers` tell its caller what is left."""

    headers: Mapping[str, str] = field(default_factory=dict)


#: Of a request without limits, and of one that is served while nobody counts.
UNLIMITED = Admission()


class Limiter:
    """Holds requests against limits."""

    def __init__(self, reservations: Reservations, prices: PriceBook, spending: Spending) -> None:
        self._reservations = reservations
        self._prices = prices
        self._spending = spending

    def admit(self, limited: Limited, record: bytes) -> Admission:
        """Open the request's record and reserve what it may use, or neither.

        Raises: LimitReached; StreamUnavailable.
        """
        checked = [pair for limits in limited.limits for pair in self._checks(limits, limited)]
        admitted, states = self._reservations.admit(
            limited.event_id, record, limited.started_at_ms, [check for _, check in checked]
        )
        outcomes = [Outcome(*pair, state) for pair, state in zip(checked, states, strict=True)]
        headers = limit_headers(outcomes)
        if not admitted:
            error = refusal(outcomes)
            error.headers.update(headers)
            raise error
        if warnings := [warning(outcome) for outcome in outcomes if outcome.state.soft]:
            headers["x-tollgate-budget-warning"] = "; ".join(warnings)
        for outcome in outcomes:
            if outcome.state.soft == FIRST_TIME:
                logger.warning("budget: %s", warning(outcome))
        return Admission(headers)

    def spent(self, event: UsageEvent) -> Spent:
        """Return what a request that has ended is charged with."""
        return spent_by(event, self._prices)

    def _checks(self, limits: Limits, limited: Limited) -> Iterator[tuple[Limits, Check]]:
        prefix = f"{LIMITS}{limits.kind}:{limits.subject_id}:"
        at_most = _at_most(limited.request)
        if (limit := limits.requests_per_minute) is not None:
            yield limits, Check(kind="requests", key=f"{prefix}requests", limit=limit, amount=1)
        if (limit := limits.tokens_per_minute) is not None:
            amount = min(at_most.total_tokens, TOKENS_LIMIT)
            if limited.request.max_tokens is None:  # our guess alone is no reason to refuse it
                amount = min(amount, max(at_most.prompt_tokens, limit))
            yield limits, Check(kind="tokens", key=f"{prefix}tokens", limit=limit, amount=amount)
        if (limit := limits.streams) is not None and limited.request.stream:
            yield limits, Check(kind="streams", key=f"{prefix}streams", limit=limit, amount=1)
        if limits.has_budget:
            yield limits, self._budget(limits, limited, at_most, prefix)

    def _budget(self, limits: Limits, limited: Limited, at_most: Usage, prefix: str) -> Check:
        request, start = limited.request, period_start(limits.period, limited.started_at_ms)
        cost_nanousd = self._prices.cost_nanousd(request.vendor, request.model_name, at_most)
        start_s = int(start.timestamp())
        return Check(
            kind="budget",
            key=f"{prefix}{start:%Y-%m-%d}:{limits.period}",
            limit=-1 if limits.budget_nanousd is None else limits.budget_nanousd,
            soft=-1 if limits.soft_nanousd is None else limits.soft_nanousd,
            amount=min(cost_nanousd or 0, MONEY_LIMIT_NANOUSD),
            spent=min(self._spending.since(limits, start_s), MONEY_LIMIT_NANOUSD),
            ends_s=int(period_end(limits.period, start).timestamp()),
        )


def spent_by(event: UsageEvent, prices: PriceBook) -> Spent:
    """Return what a request has used; what has no known price costs nothing."""
    return Spent(event.total_tokens, prices.cost(event).nanousd or 0)


def _at_most(request: CompletionRequest) -> Usage:
    """Return what a request may use, roughly: its prompts once, and all choices to their bound."""
    prompt_tokens = sum(_prompt_tokens(prompt) for prompt in request.prompts)
    per_choice = UNBOUND_TOKENS if request.max_tokens is None else request.max_tokens
    choices = len(request.prompts) * max(request.n or 1, request.best_of or 1)
    return Usage(
        prompt_tokens=prompt_tokens,
        completion_tokens=per_choice * choices,
        total_tokens=prompt_tokens + per_choice * choices,
    )


def _prompt_tokens(prompt: str | Sequence[int]) -> int:
    if not isinstance(prompt, str):
        return len(prompt)
    size = len(prompt) if prompt.isascii() else len(prompt.encode("utf-8", "replace"))
    return math.ceil(size / BYTES_PER_TOKEN)
