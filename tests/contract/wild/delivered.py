"""Compares a caller's response with the vendor's texts: nothing is lost or mixed up."""

import re
from collections.abc import Iterator
from typing import Any

from tests.contract.wild.case import Case
from tests.contract.wild.rig import Outcome
from tests.contract.wild.truth import Sample


def answer_faults(case: Case, outcome: Outcome) -> Iterator[str]:
    """Yield the faults in a response."""
    failure = _failure(case)
    delivered = is_delivered(case, outcome)
    got = _choices(case, outcome)
    yield from _invalid(outcome, got)
    yield from _mixed(case, got, whole=delivered)
    if delivered and failure is not None and not _may_be_either(case):
        yield f"a failure ({sorted(failure)}) was told as a success"
    if not delivered and failure is None and not _may_be_either(case):
        yield f"an answer was lost: {_told_failure(case, outcome)}"
    if not delivered and failure is not None:
        status = _told_status(case, outcome)
        begun = outcome.status == 200  # and then refusals differ in their words alone
        if status not in failure and not (begun and status in REFUSED and failure & REFUSED):
            yield f"told as {_told_failure(case, outcome)}, not as one of {sorted(failure)}"
        for call in case.calls if outcome.status != 200 else ():
            if call.retry_after and outcome.headers.get("retry-after") != call.retry_after:
                yield f"retry-after {call.retry_after} was not passed on"
    if delivered:
        yield from _incomplete(case, got)


def _invalid(outcome: Outcome, got: "Got") -> Iterator[str]:
    """Yield what a strict parser of JSON or UTF-8 would reject."""
    if re.search(rb"[:,[] ?-?(NaN|Infinity)\b", outcome.content):
        yield "a number that is none was passed on"
    if re.search(rb"\\u[dD][89a-fA-F]", outcome.content):  # whole characters are sent as they are
        yield "half a character was passed on"
    for index, one in got.items():
        if any("\ud800" <= letter <= "\udfff" for letter in one["text"]):
            yield f"choice {index} has half a character"


def _failure(case: Case) -> frozenset[int] | None:
    failures = [call.failure for call in case.calls if call.failure]
    return frozenset().union(*failures) if failures else None


def _may_be_either(case: Case) -> bool:
    return any(call.either for call in case.calls)


def is_delivered(case: Case, outcome: Outcome) -> bool:
    """Whether the caller's response looks complete."""
    if outcome.status != 200 or outcome.was_cut:
        return False
    return not case.stream or ("done", "[DONE]") in outcome.events


def _told_status(case: Case, outcome: Outcome) -> int:
    error = _error(case, outcome)
    if outcome.status != 200:
        return outcome.status
    return STATUS_OF_CODE.get(str(error.get("code")), 400)


REFUSED = frozenset({400, 404, 413})

#: An error in a stream has no status but its code's.
STATUS_OF_CODE = {
    "vendor_failed": 502,
    "vendor_authentication": 502,
    "vendor_timeout": 504,
    "vendor_overloaded": 503,
    "vendor_rate_limited": 429,
    "internal_error": 500,
}


def _told_failure(case: Case, outcome: Outcome) -> str:
    return f"{outcome.status} {_error(case, outcome)} cut={outcome.was_cut}"


def _error(case: Case, outcome: Outcome) -> dict[str, Any]:
    if outcome.status != 200:
        error: dict[str, Any] = outcome.body["error"]
        return error
    if not case.stream:
        return {}
    return next((body["error"] for name, body in outcome.events if name == "error"), {})


Got = dict[int, dict[str, Any]]


NOTHING: dict[str, Any] = {"text": "", "native": None}


def _choices(case: Case, outcome: Outcome) -> Got:
    """Return each choice: its text, its finish reasons, and the vendor's own values."""
    got: Got = {}
    if outcome.status != 200:
        return got
    bodies = [b for name, b in outcome.events if name is None] if case.stream else [outcome.body]
    for body in bodies:
        for choice in body["choices"]:
            one = got.setdefault(choice["index"], {**NOTHING, "reasons": [], "fields": {}})
            one["fields"] |= choice
            if one["reasons"] and choice["text"]:
                one["late"] = True
            one["text"] += choice["text"]
            if choice["finish_reason"] is not None:
                one["reasons"].append(choice["finish_reason"])
                one["native"] = choice.get("native_finish_reason")
    return got


def _mixed(case: Case, got: Got, *, whole: bool) -> Iterator[str]:
    """Yield texts that are no sample's, that came twice, or that are under a wrong prompt."""
    used: list[int] = []
    for index, one in got.items():
        if not 0 <= index < case.n * len(case.prompts):
            yield f"choice {index} was not asked for"
            continue
        letter = case.prompts[index // case.n]
        sample = _sample_of(case, one["text"], whole=whole)
        if sample is None:
            yield f"choice {index} is no sample's text: {one['text']!r}"
        elif one["text"]:
            if sample.prompt != letter:
                yield f"choice {index} has a text of prompt {sample.prompt}"
            if id(sample) in used:
                yield f"choice {index} has a text that another one has, too"
            used.append(id(sample))


def _sample_of(case: Case, text: str, *, whole: bool) -> Sample | None:
    for call in case.calls:
        for sample in call.samples:
            wanted, found = (sample.text, text)
            if sample.fuzzy:
                wanted, found = _plain(wanted), _plain(found)
            if wanted == found or (not whole and wanted.startswith(found)):
                return sample
    return None


#: Half a character, and what may stand for it.
HALVES = re.compile("[?\ud800-\udfff\ufffd\U0001f642]+")


def _plain(text: str) -> str:
    return HALVES.sub("", text)


def _incomplete(case: Case, got: Got) -> Iterator[str]:
    wanted = case.n * len(case.prompts)
    if len(got) != wanted:
        yield f"{len(got)} choices instead of {wanted}"
    for index, one in got.items():
        sample = _sample_of(case, one["text"], whole=True)
        if len(one["reasons"]) > 1:
            yield f"choice {index} has the finish reasons {one['reasons']}"
        if _ends_otherwise(one, sample):
            yield f"choice {index} ended with {one['reasons']}, not with {sample and sample.finish}"
        if not one["reasons"]:
            yield f"choice {index} has no finish reason"
        if one.get("late"):
            yield f"choice {index} went on after its finish reason"
        if sample is not None and not _carries(one["fields"], sample.extra):
            yield f"choice {index} lacks {sample.extra}"
        if sample is not None and sample.native and one["native"] != sample.native:
            yield f"choice {index} has native_finish_reason {one['native']}, not {sample.native}"


def _carries(fields: dict[str, Any], extra: dict[str, Any]) -> bool:
    """Whether a choice has these fields; lists of its deltas may have been joined."""
    return all(
        fields.get(name) == value
        or (isinstance(value, list) and fields.get(name, ())[: len(value)] == value)
        for name, value in extra.items()
    )


def _ends_otherwise(one: dict[str, Any], sample: Sample | None) -> bool:
    if sample is None or sample.finish == "?" or len(one["reasons"]) != 1:
        return False
    return bool(one["reasons"] != [sample.finish])
