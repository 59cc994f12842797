"""Several calls for one request: fan-out, retries, failover, rests. Out through HTTP and events."""

import threading
from collections import Counter
from contextlib import suppress
from typing import Any

import pytest
import requests

from app.serving.circuit_breaker import FAILURE_THRESHOLD, UNTIL
from tests.support.gateway import Gateway, running, sse_events, text_of
from tests.support.services.polling import wait_until
from tests.support.vendor import (
    CUT,
    DONE,
    Asked,
    Reply,
    SimulatedVendor,
    body_of,
    choice,
    json_reply,
    stream_reply,
    usage_of,
)

PROMPT: dict[str, Any] = {"model": "again/m", "prompt": "one two"}
FAILED = json_reply({"error": {"message": "no"}}, 503)


def test_a_passing_failure_is_tried_again_and_counts_as_one_request(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    vendor.reply(FAILED, FAILED)
    response = gateway.post(PROMPT)
    assert response.status_code == 200
    assert response.headers["x-tollgate-attempts"] == "3"
    event = gateway.event()
    assert (event.status, event.attempts, event.total_tokens) == ("completed", 3, 5)
    assert (event.source, event.http_status) == ("vendor", 200)


@pytest.mark.parametrize("stream", [False, True])
def test_a_vendor_that_always_fails_is_called_as_often_as_its_entry_says(
    gateway: Gateway, vendor: SimulatedVendor, stream: bool
) -> None:
    vendor.default = lambda _: FAILED
    response = gateway.post({**PROMPT, "stream": stream})
    assert response.status_code == 503
    assert response.headers["x-tollgate-attempts"] == "3"
    assert len(vendor.asked) == 3
    assert gateway.event().attempts == 3


def test_a_long_retry_after_is_the_callers_to_wait_for(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    vendor.reply(json_reply({}, 429, retry_after="60"))
    response = gateway.post(PROMPT)
    assert (response.status_code, response.headers["retry-after"]) == (429, "60")
    assert len(vendor.asked) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_what_will_not_pass_is_not_tried_again(
    gateway: Gateway, vendor: SimulatedVendor, status: int
) -> None:
    vendor.reply(json_reply({"error": {"message": "no"}}, status))
    assert gateway.post(PROMPT).status_code >= 400
    assert len(vendor.asked) == 1


@pytest.mark.parametrize(
    "broken", [Reply([b"{", CUT]), stream_reply(body_of(choice("a")), CUT), Reply([b"{"])]
)
@pytest.mark.parametrize("stream", [False, True])
def test_what_may_have_been_billed_is_not_paid_for_twice(
    gateway: Gateway, vendor: SimulatedVendor, broken: Reply, stream: bool
) -> None:
    vendor.reply(broken)
    with suppress(requests.exceptions.ChunkedEncodingError):  # a stream is cut in the middle
        assert gateway.post({**PROMPT, "stream": stream}).status_code == 502
    assert gateway.event().attempts == 1
    assert len(vendor.asked) == 1


@pytest.mark.parametrize("stream", [False, True])
def test_the_next_entry_answers_when_the_first_one_is_down(
    gateway: Gateway, vendor: SimulatedVendor, stream: bool
) -> None:
    vendor.reply(FAILED)
    response = gateway.post({**PROMPT, "model": "standby/m", "stream": stream})
    assert response.status_code == 200
    assert response.headers["x-tollgate-attempts"] == "2"
    assert [asked.body["model"] for asked in vendor.asked] == ["m", "other"]
    event = gateway.event()
    assert (event.vendor, event.model, event.vendor_served) == ("standby", "m", "spare")
    assert (event.attempts, event.status, event.total_tokens) == (2, "completed", 5)


def test_nothing_is_tried_elsewhere_once_the_caller_has_a_chunk(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    vendor.reply(stream_reply(body_of(choice("one")), {"error": {"message": "x", "code": 503}}))
    with pytest.raises(Exception, match="ended prematurely"):
        gateway.post({**PROMPT, "model": "standby/m", "stream": True})
    assert len(vendor.asked) == 1
    assert gateway.event().status == "truncated"


def test_ten_failures_rest_an_entry_for_every_process_and_it_comes_back(
    gateway: Gateway, vendor: SimulatedVendor, settings: Any
) -> None:
    body = {**PROMPT, "model": "standby/m"}
    vendor.default = lambda asked: (
        FAILED if asked.body["model"] == "m" else json_reply(body_of(choice("x", "stop")))
    )
    for _ in range(FAILURE_THRESHOLD):
        assert gateway.post(body).status_code == 200
    asked = Counter(asked.body["model"] for asked in vendor.asked)
    assert asked == {"m": FAILURE_THRESHOLD, "other": FAILURE_THRESHOLD}
    with running(settings, "twin") as twin:  # another process, as far as Redis can tell
        for _ in range(5):
            assert twin.post(body).status_code == 200
    asked = Counter(asked.body["model"] for asked in vendor.asked)
    assert asked == {"m": FAILURE_THRESHOLD, "other": FAILURE_THRESHOLD + 5}
    gateway.redis.zadd(UNTIL, {"standby": 1})  # its rest is over

    def asked_again() -> bool:
        gateway.post(body)
        return Counter(asked.body["model"] for asked in vendor.asked)["m"] > FAILURE_THRESHOLD

    wait_until(asked_again)


def test_an_entry_without_a_stand_in_is_called_however_often_it_fails(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    vendor.default = lambda _: FAILED
    for _ in range(FAILURE_THRESHOLD + 2):
        gateway.post({**PROMPT, "model": "sim/m"})
    assert len(vendor.asked) == FAILURE_THRESHOLD + 2


def answering(asked: Asked) -> Reply:
    """Answer one prompt with its own text and the sample's number."""
    prompt, n = asked.body["prompt"], asked.body.get("n", 1)
    usage = usage_of(2, 3 * n)
    if not asked.body.get("stream"):
        whole = [choice(f"{prompt}-{at}", "stop", at) for at in range(n)]
        return json_reply(body_of(*whole, usage=usage))
    pieces = [body_of(choice(f"{prompt}-", None, at)) for at in range(n)]
    ends = [body_of(choice(str(at), "stop", at)) for at in range(n)]
    return stream_reply(*pieces, 0.01, *ends, body_of(usage=usage), DONE)


FAN = {"model": "single/m", "prompt": ["a", "b", "c"], "n": 3}
FANNED = [f"{prompt}-{sample}" for prompt in "abc" for sample in (0, 1, 0)]


def test_prompts_and_samples_that_one_call_cannot_hold_take_several(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    vendor.default = answering
    answer = gateway.post(FAN).json()
    assert [c["index"] for c in answer["choices"]] == list(range(9))
    assert [c["text"] for c in answer["choices"]] == FANNED
    assert answer["usage"]["total_tokens"] == 6 * 2 + 9 * 3
    asked = Counter((a.body["prompt"], a.body.get("n")) for a in vendor.asked)
    assert asked == {(p, n): 1 for p in "abc" for n in (2, None)}
    event = gateway.event()
    assert (event.attempts, event.prompt_tokens, event.completion_tokens) == (6, 12, 27)


def test_streams_of_several_calls_are_woven_into_one(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    vendor.default = answering
    events = sse_events(
        gateway.post({**FAN, "stream": True, "stream_options": {"include_usage": True}})
    )
    assert [text_of(events, index) for index in range(9)] == FANNED
    assert events[-1] == ("done", "[DONE]")
    assert events[-2][1]["usage"]["total_tokens"] == 39
    assert [body["choices"] == [] for name, body in events if name is None].count(True) == 1
    assert gateway.event().total_tokens == 39


def test_one_failed_call_fails_the_request_and_cuts_the_others_but_their_use_is_recorded(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    b_is_asked = threading.Event()

    def one_fails(asked: Asked) -> Reply:
        if asked.body["prompt"] == "a":
            return answering(asked)
        if asked.body["prompt"] == "b":
            b_is_asked.set()
            return Reply([threading.Event()])  # for ever, unless it is cut
        b_is_asked.wait(30)
        return Reply([0.5, b'{"error": {"message": "c is too long"}}'], 400)

    vendor.default = one_fails
    response = gateway.post({"model": "single/m", "prompt": ["a", "b", "c"]})
    assert response.status_code == 400
    assert response.json()["error"]["message"] == "c is too long"
    wait_until(lambda: vendor.hang_ups)
    event = gateway.event()
    assert (event.status, event.attempts) == ("failed", 3)
    assert event.completion_tokens == 3
    assert event.prompt_tokens >= 2


def test_a_request_of_too_many_calls_is_refused_before_any(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    response = gateway.post({**FAN, "prompt": ["x"] * 2000})
    assert response.status_code == 400
    assert response.json()["error"]["param"] == "prompt"
    assert vendor.asked == []
    assert gateway.redis.keys() == []
