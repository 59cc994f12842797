"""Limiter: admits a request if it fits in the limits of its account and of its API key.

Computes what the request may use at most; `reservations` counts in Redis, and `limit_messages`
words the response headers and errors.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct

from app.admission.at_most import CostCandidate, cost_at_most, usage_at_most
from app.admission.limit_messages import LimitOutcome, limit_error, limit_headers, warning
from app.admission.numbering import Opening
from app.admission.reservations import FIRST_TIME, Check, Reservations
from app.admission.spending import NOTHING_YET, Spending
from app.pricing.price_book import PriceBook
from app.storage.redis.keys import LIMITS
from app.vocabulary.limits import NUMBER_LIMIT, Limits, period_end, period_start
from app.vocabulary.request import GenerationRequest

#: More tokens than any limit allows.
TOKENS_LIMIT = 2 * NUMBER_LIMIT

#: The sum of two such numbers is exact in a Lua script.
MONEY_LIMIT_NANOUSD = 2**52

logger = logging.getLogger(__name__)


NO_HEADERS: Mapping[str, str] = MappingProxyType({})

_Checked = tuple[Limits, Check]


class AdmissionRequest(Struct, frozen=True):
    """What decides whether a request is admitted: its limits, and what it may use of them.

    `candidates` are the vendor entries that may serve it; `started_at_ms` is in Unix milliseconds.
    """

    event_id: str
    started_at_ms: int
    limits: Sequence[Limits]
    request: GenerationRequest
    candidates: Sequence[CostCandidate]


class Admission(Struct, frozen=True):
    """A request was admitted; the response `headers` tell its caller what is left.

    `number` is the request's number among those of its process.
    """

    headers: Mapping[str, str] = NO_HEADERS
    number: int = 0
    #: Whether a budget was checked without the ledger's sum, which is unknown so far.
    lacks_ledger: bool = False


class Limiter:
    """Admits requests, and reserves the most that they may use."""

    def __init__(self, reservations: Reservations, prices: PriceBook, spending: Spending) -> None:
        self._reservations = reservations
        self.prices = prices
        self._spending = spending

    def admit(self, admission: AdmissionRequest, opening: Opening) -> Admission:
        """Open the request's record and reserve the most that it may use, or neither.

        Raises: LimitReached; StreamUnavailable.
        """
        number, outcomes = self._try(admission, opening)
        if not number and self._has_new_corrections(outcomes):
            number, outcomes = self._try(admission, opening)
        headers = limit_headers(outcomes)
        if not number:
            error = limit_error(outcomes)
            error.headers.update(headers)
            raise error
        if warnings := [warning(outcome) for outcome in outcomes if outcome.state.soft]:
            headers["x-tollgate-budget-warning"] = "; ".join(warnings)
        lacks_ledger = False
        for outcome in outcomes:
            lacks_ledger |= outcome.check.corrections == NOTHING_YET.corrections
            if outcome.state.soft == FIRST_TIME:
                logger.warning("budget: %s", warning(outcome))
        return Admission(headers, number, lacks_ledger)

    def _try(self, admission: AdmissionRequest, opening: Opening) -> tuple[int, list[LimitOutcome]]:
        checked = [pair for limits in admission.limits for pair in self._checks(limits, admission)]
        number, states = self._reservations.admit(opening, [check for _, check in checked])
        return number, [
            LimitOutcome(*pair, state) for pair, state in zip(checked, states, strict=True)
        ]

    def _has_new_corrections(self, outcomes: Sequence[LimitOutcome]) -> bool:
        """Return whether the ledger has corrected a used-up budget since it was last queried.

        No request is rejected for money that turned out not to have been spent.
        """
        over = [it for it in outcomes if it.check.kind == "budget" and not it.state.fits]
        return any([self._spending.renew(it.limits, it.check.start_s) for it in over])

    def _checks(self, limits: Limits, admission: AdmissionRequest) -> Iterator[_Checked]:
        prefix = f"{LIMITS}{limits.kind}:{limits.subject_id}:"
        at_most = usage_at_most(admission.request)
        if (limit := limits.requests_per_minute) is not None:
            yield limits, Check(kind="requests", key=f"{prefix}rpm", limit=limit, amount=1)
        if (limit := limits.tokens_per_minute) is not None:
            amount = min(at_most.total_tokens, TOKENS_LIMIT)
            if admission.request.max_tokens is None:  # Tollgate's guess alone must not reject it
                amount = min(amount, max(at_most.prompt_tokens, limit))
            yield limits, Check(kind="tokens", key=f"{prefix}tpm", limit=limit, amount=amount)
        if (limit := limits.streams) is not None and admission.request.stream:
            yield limits, Check(kind="streams", key=f"{prefix}streams", limit=limit, amount=1)
        if limits.has_budget:
            yield limits, self._budget(limits, admission, prefix)

    def _budget(self, limits: Limits, admission: AdmissionRequest, prefix: str) -> Check:
        start = period_start(limits.period, admission.started_at_ms)
        cost_nanousd = cost_at_most(admission.request, admission.candidates, self.prices)
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
