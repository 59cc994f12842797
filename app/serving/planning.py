"""The first plan of a request: for which of its candidates, before it is admitted."""

from collections.abc import Sequence

from app.serving.circuit_breaker import CircuitBreaker
from app.serving.routing import Candidate, Plan, Router
from app.vocabulary.errors import InvalidRequest
from app.vocabulary.request import GenerationRequest


def first_plan(
    request: GenerationRequest,
    candidates: Sequence[Candidate],
    router: Router,
    circuit_breaker: CircuitBreaker,
) -> tuple[Sequence[Candidate], Plan]:
    """Return the candidates to try, and the plan for the first of them.

    Those with an open circuit are left out if another one can take the request. The caller has not
    chosen these others: what they do not support is not the caller's mistake.
    Raises: InvalidRequest if the requested candidate does not support the request.
    """
    asked = candidates[0]
    open_circuits = circuit_breaker.open_circuits() if len(candidates) > 1 else frozenset()
    closed = [it for it in candidates if it.vendor.name not in open_circuits]
    if asked.vendor.name not in open_circuits:
        return closed, router.plan(asked, request)
    for at, candidate in enumerate(closed):
        try:
            return closed[at:], router.plan(candidate, request)
        except InvalidRequest:
            continue
    return candidates, router.plan(asked, request)
