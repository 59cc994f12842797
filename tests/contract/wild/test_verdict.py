"""The verdict finds everything that is lost, mixed up, estimated or late."""

import dataclasses
import json
from typing import Any

import pytest
from msgspec import structs

from app.usage.messages.event import UsageEvent
from app.usage.messages.event_id import new_event_id
from tests.contract.wild.case import Case
from tests.contract.wild.rig import Outcome
from tests.contract.wild.truth import Sample, Told, Truth
from tests.contract.wild.verdict import faults

#: Whose count each side is, where events say so: as values of a guess.
GUESSED: dict[str, Any] = {
    field.name: "estimated"
    for field in structs.fields(UsageEvent)
    if field.name in ("source", "prompt_source", "completion_source")
}

EVENT = UsageEvent(
    event_id=new_event_id(),
    request_id="r",
    account_id="a",
    api_key_id="k",
    user=None,
    vendor="v",
    model="m",
    vendor_served="v",
    model_served="m",
    service_tier=None,
    stream=False,
    status="completed",
    source="vendor",
    prompt_source="vendor",
    completion_source="vendor",
    prompt_tokens=11,
    completion_tokens=7,
    total_tokens=18,
    cached_tokens=3,
    cache_write_tokens=0,
    reasoning_tokens=0,
    audio_prompt_tokens=0,
    audio_completion_tokens=0,
    accepted_prediction_tokens=0,
    rejected_prediction_tokens=0,
    vendor_request_id=None,
    http_status=200,
    attempts=1,
    client_retry_count=0,
    started_at_ms=1,
    first_token_ms=None,
    duration_ms=1,
)


def case_of(*, n: int = 1, prompts: str = "A", told: Told | None = None, **more: Any) -> Case:
    """Return a case whose one call said `A one`, `A two`, ... for the prompts."""
    samples = [Sample(letter, [letter, f" {at}"]) for letter in prompts for at in range(n)]
    case = Case(1, "vllm", stream=False, n=n, prompts=list(prompts), include_usage=False)
    case.calls.append(Truth(samples, told or Told(11, 7, 3), **more))
    return case


def whole(*texts: str, finish: str | None = "stop", usage: Any = (11, 7, 18)) -> Outcome:
    """Return a caller's response with these choices."""
    choices = [
        {"index": at, "text": text, "finish_reason": finish} for at, text in enumerate(texts)
    ]
    counts = dict(zip(("prompt_tokens", "completion_tokens", "total_tokens"), usage, strict=True))
    return Outcome(200, "r", content=json.dumps({"choices": choices, "usage": counts}).encode())


def failed(status: int = 502) -> Outcome:
    """Return a caller's response with an error."""
    error = {"error": {"code": "vendor_failed", "message": "It broke."}}
    return Outcome(status, "r", content=json.dumps(error).encode())


def test_a_good_answer_has_no_fault() -> None:
    assert faults(case_of(n=2, prompts="AB"), whole("A 1", "A 0", "B 0", "B 1"), [EVENT]) == []


def test_an_answer_that_is_lost_is_seen() -> None:
    event = structs.replace(EVENT, status="failed")
    (fault,) = faults(case_of(), failed(), [event])
    assert "lost" in fault


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (("A 0",), "1 choices instead of 2"),
        (("A 0", "A 0"), "another one has"),
        (("A 0A 1", "A 1"), "no sample's text"),
        (("A 0", "B 1"), "no sample's text"),
        (("A 0", "A"), "no sample's text"),
        (("A 0", "A 1", "A 1"), "not asked for"),
    ],
)
def test_texts_that_are_mixed_up_are_seen(texts: tuple[str, ...], words: str) -> None:
    assert words in " ".join(faults(case_of(n=2), whole(*texts), [EVENT]))


def test_a_text_under_a_wrong_prompt_is_seen() -> None:
    assert "prompt B" in " ".join(faults(case_of(prompts="AB"), whole("B 0", "A 0"), [EVENT]))


def test_a_wrong_finish_reason_is_seen() -> None:
    assert "ended with" in " ".join(faults(case_of(), whole("A 0", finish="length"), [EVENT]))
    assert "no finish reason" in " ".join(faults(case_of(), whole("A 0", finish=None), [EVENT]))


@pytest.mark.parametrize("count", [0, 2])
def test_any_number_of_events_but_one_is_seen(count: int) -> None:
    assert f"{count} events" in faults(case_of(), whole("A 0"), [EVENT] * count)[0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"prompt_tokens": 12, "total_tokens": 19},
        {"completion_tokens": 8, "total_tokens": 19},
        {"cached_tokens": 0},
        {"total_tokens": 20},
        GUESSED,
        {"status": "failed"},
    ],
)
def test_an_event_that_is_not_the_truth_is_seen(wrong: dict[str, Any]) -> None:
    assert faults(case_of(), whole("A 0"), [structs.replace(EVENT, **wrong)])


def test_a_guess_called_the_vendors_is_seen() -> None:
    found = faults(case_of(told=Told(11, None, 3)), whole("A 0"), [EVENT])
    assert "marked as its own" in " ".join(found)


def test_a_running_count_is_the_least() -> None:
    event = structs.replace(EVENT, status="failed", **GUESSED)
    case = case_of(told=Told(11, None, 3, at_least=8), failure=frozenset({502}))
    assert "at least 8" in " ".join(faults(case, failed(), [event]))


def test_a_failure_told_as_a_success_is_seen() -> None:
    case = case_of(failure=frozenset({502}))
    assert "told as a success" in " ".join(faults(case, whole("A 0"), [EVENT]))


def test_a_failure_told_as_another_one_is_seen() -> None:
    case = case_of(failure=frozenset({429}))
    event = structs.replace(EVENT, status="failed")
    assert "not as one of [429]" in " ".join(faults(case, failed(), [event]))


def test_what_is_booked_for_nothing_is_seen() -> None:
    case = case_of(failure=frozenset({502}), free=True)
    event = structs.replace(EVENT, status="failed")
    assert "nothing was to be" in " ".join(faults(case, failed(), [event]))


def test_an_answer_that_ends_late_is_seen() -> None:
    case, outcome = case_of(), whole("A 0")
    case.ended_s, outcome.ended_s = 100.0, 107.0
    assert "7.0 s after" in " ".join(faults(case, outcome, [EVENT]))


def test_a_stream_that_was_cut_is_no_success() -> None:
    case = case_of()
    case.stream = True
    chunk = {"choices": [{"index": 0, "text": "A 0", "finish_reason": "stop"}]}
    content = f"data: {json.dumps(chunk)}\n\nevent: done\ndata: [DONE]\n\n".encode()
    good = Outcome(200, "r", content=content)
    assert faults(case, good, [EVENT]) == []
    cut = dataclasses.replace(good, was_cut=True)
    assert "lost" in " ".join(faults(case, cut, [EVENT]))
