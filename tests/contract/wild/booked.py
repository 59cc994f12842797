"""Compares the recorded usage with the vendor's counts."""

from collections.abc import Iterator

from app.usage.messages.event import UsageEvent
from tests.contract.wild.case import Case
from tests.contract.wild.delivered import is_delivered
from tests.contract.wild.rig import Outcome
from tests.contract.wild.truth import Truth


def left_faults(outcome: Outcome, event: UsageEvent) -> Iterator[str]:
    """Yield the faults in the event of a caller that disconnected; only these can be known."""
    if event.total_tokens != event.prompt_tokens + event.completion_tokens:
        yield f"the event's total is not the sum: {event.usage}"
    if event.status == "abandoned" or (outcome.status == 200 and event.source == "none"):
        yield f"the event of a caller that left says {event.status}, {event.source}"


def status_faults(case: Case, outcome: Outcome, event: UsageEvent) -> Iterator[str]:
    """Yield a fault if the event's status contradicts the caller's response."""
    delivered = is_delivered(case, outcome)
    if delivered and event.status != "completed":
        yield f"the event of a whole answer says {event.status}"
    if not delivered and event.status not in ("failed", "truncated"):
        yield f"the event of a failure says {event.status}"


def usage_faults(case: Case, outcome: Outcome, event: UsageEvent) -> Iterator[str]:
    """Yield the faults in the tokens and their sources."""
    if event.total_tokens != event.prompt_tokens + event.completion_tokens:
        yield f"the event's total is not the sum: {event.usage}"
    calls = [call for call in case.calls if not call.free]
    if not calls:
        if event.total_tokens:
            yield f"booked {event.total_tokens} tokens where nothing was to be"
        return
    yield from _side_faults(event, calls, "prompt")
    yield from _side_faults(event, calls, "completion")
    if all(call.told.prompt is not None and not call.told.loose for call in calls):
        cached = sum(call.told.cached for call in calls)
        if event.cached_tokens != cached:
            yield f"{event.cached_tokens} cached tokens recorded, {cached} told"
    yield from _shown_faults(case, outcome, event)


def partial_faults(case: Case, _: Outcome, event: UsageEvent) -> Iterator[str]:
    """Yield the faults after one of several calls failed, and some others were cancelled."""
    if event.total_tokens != event.prompt_tokens + event.completion_tokens:
        yield f"the event's total is not the sum: {event.usage}"
    failed = [call for call in case.calls if call.failure and not call.free and not call.told.loose]
    for side in ("prompt", "completion"):
        told = sum(getattr(call.told, side) or 0 for call in failed)
        if getattr(event, f"{side}_tokens") < told:
            yield f"{side}: less recorded than the failed call alone was told, {told}"


def _side_faults(event: UsageEvent, calls: list[Truth], side: str) -> Iterator[str]:
    told = [getattr(call.told, side) for call in calls]
    recorded = getattr(event, f"{side}_tokens")
    source = getattr(event, f"{side}_source", event.source)
    sums = sum(count for count in told if count is not None)
    if any(call.told.loose for call in calls):
        return
    if None not in told:
        if recorded != sums:
            yield f"{side}: {recorded} recorded, {sums} told"
        if source != "vendor":
            yield f"{side}: told by the vendor, marked {source}"
    else:
        least = sums + sum(call.told.at_least for call in calls if side == "completion")
        if recorded < least:
            yield f"{side}: {recorded} recorded, at least {least} told"
        if source == "vendor" and not least:
            yield f"{side}: not told by the vendor, marked as its own"
        if side == "prompt" and recorded == 0:
            yield "prompt: nothing recorded of a prompt that was read"


def _shown_faults(case: Case, outcome: Outcome, event: UsageEvent) -> Iterator[str]:
    if not is_delivered(case, outcome):
        return
    bodies = [b for name, b in outcome.events if name is None] if case.stream else [outcome.body]
    shown = [body["usage"] for body in bodies if body.get("usage")]
    wanted = 1 if case.include_usage or not case.stream else 0
    if len(shown) != wanted:
        yield f"{len(shown)} usages shown instead of {wanted}"
    for usage in shown:
        counts = (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"])
        if counts != (event.prompt_tokens, event.completion_tokens, event.total_tokens):
            yield f"the caller was shown {counts}, recorded is {event.usage}"
