"""The limiter: admits a request if it fits in the limits of its account and of its key.

Knows what a request may use at most, and how to tell its caller; the counting is in Redis.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from app.admission.at_most import CostCandidate, cost_at_most, usage_at_most
from app.admission.limit_messages import LimitOutcome, limit_headers, refusal, warning
from app.admission.reservations import FIRST_TIME, Check, Reservations
from app.admission.spending import Spending
from app.pricing.price_book import PriceBook
from app.storage.redis.keys import LIMITS
from app.vocabulary.completion import CompletionRequest
from app.vocabulary.limits import NUMBER_LIMIT, Limits, period_end, period_start

#: More tokens than any limit allows.
TOKENS_LIMIT = 2 * NUMBER_LIMIT

#: Sums of two such numbers are exact in Redis' scripts.
MONEY_LIMIT_NANOUSD = 2**52

logger = logging.getLogger(__name__)


class AdmissionRequest(Protocol):
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

    @property
    def candidates(self) -> Sequence[CostCandidate]:
        """The deployments that may serve it."""
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
        self.prices = prices
        self._spending = spending

    def admit(self, limited: AdmissionRequest, record: bytes) -> Admission:
        """Open the request's record and reserve what it may use, or neither.

        Raises: LimitReached; StreamUnavailable.
        """
        admitted, outcomes = self._ask(limited, record)
        if not admitted and self._knows_better(outcomes):
            admitted, outcomes = self._ask(limited, record)
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

    def _ask(self, limited: AdmissionRequest, record: bytes) -> tuple[bool, list[LimitOutcome]]:
        checked = [pair for limits in limited.limits for pair in self._checks(limits, limited)]
        admitted, states = self._reservations.admit(
            limited.event_id, record, limited.started_at_ms, [check for _, check in checked]
        )
        return admitted, [
            LimitOutcome(*pair, state) for pair, state in zip(checked, states, strict=True)
        ]

    def _knows_better(self, outcomes: Sequence[LimitOutcome]) -> bool:
        """Say whether the ledger has been corrected since it was asked about a budget that is used
        up: nobody is refused for what has turned out not to have been spent.
        """
        over = [it for it in outcomes if it.check.kind == "budget" and not it.state.fits]
        return any([self._spending.renew(it.limits, it.check.start_s) for it in over])

    def _checks(self, limits: Limits, limited: AdmissionRequest) -> Iterator[tuple[Limits, Check]]:
        prefix = f"{LIMITS}{limits.kind}:{limits.subject_id}:"
        at_most = usage_at_most(limited.request)
        if (limit := limits.requests_per_minute) is not None:
            yield limits, Check(kind="requests", key=f"{prefix}rpm", limit=limit, amount=1)
        if (limit := limits.tokens_per_minute) is not None:
            amount = min(at_most.total_tokens, TOKENS_LIMIT)
            if limited.request.max_tokens is None:  # our guess alone is no reason to refuse it
                amount = min(amount, max(at_most.prompt_tokens, limit))
            yield limits, Check(kind="tokens", key=f"{prefix}tpm", limit=limit, amount=amount)
        if (limit := limits.streams) is not None and limited.request.stream:
            yield limits, Check(kind="streams", key=f"{prefix}streams", limit=limit, amount=1)
        if limits.has_budget:
            yield limits, self._budget(limits, limited, prefix)

    def _budget(self, limits: Limits, limited: AdmissionRequest, prefix: str) -> Check:
        start = period_start(limits.period, limited.started_at_ms)
        cost_nanousd = cost_at_most(limited.request, limited.candidates, self.prices)
        start_s = int(start.timestamp())
        known = self._spending.since(limits, start_s)
        return Check(
            kind="budget",
            key=f"{prefix}{start:%Y-%m-%d}:{limits.period}",
            limit=-1 if limits.budget_nanousd is None else limits.budget_nanousd,
            soft=-1 if limits.soft_nanousd is None else limits.soft_nanousd,
            amount=min(cost_nanousd, MONEY_LIMIT_NANOUSD),
            spent=min(known.nanousd, MONEY_LIMIT_NANOUSD),
            corrections=known.corrections,
            corrected=max(-MONEY_LIMIT_NANOUSD, min(known.corrected_nanousd, MONEY_LIMIT_NANOUSD)),
            start_s=start_s,
            ends_s=int(period_end(limits.period, start).timestamp()),
        )
