"""Compares a response and its recorded usage with the truth. Returns faults as sentences."""

from app.usage.messages.event import UsageEvent
from tests.contract.wild.booked import left_faults, partial_faults, status_faults, usage_faults
from tests.contract.wild.case import Case
from tests.contract.wild.delivered import answer_faults
from tests.contract.wild.rig import Outcome

#: A second, and more for a machine that others use, too.
LATEST_S = 6.0


def faults(case: Case, outcome: Outcome, events: list[UsageEvent]) -> list[str]:
    """Return what is wrong; nothing is, where the list is empty."""
    found = [f"the vendor refused the request: {words}" for words in case.refusals]
    if len(events) != 1:
        return [*found, f"{len(events)} events instead of one"]
    if outcome.status >= 500 and b"internal_error" in outcome.content:
        found.append("the gateway itself failed")
    if case.leaves:
        return [*found, *left_faults(outcome, events[0])]
    found += answer_faults(case, outcome)
    found += status_faults(case, outcome, events[0])
    check = usage_faults if case.fails_at is None else partial_faults
    found += check(case, outcome, events[0])
    if case.ended_s and outcome.ended_s - case.ended_s > LATEST_S:
        late_s = outcome.ended_s - case.ended_s
        found.append(f"the caller's answer ended {late_s:.1f} s after the vendor's")
    return found
